//! Requests come in: answered at once when everything is known, else kept for the workers.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kit::Clock;
use prost::Message as _;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::photos::PhotoRequest;

use crate::answer::{answer, known};
use crate::tables::{REQUESTS, RequestRow};
use crate::{Error, ROLE, release};

const MAX_REQUEST_ID_BYTES: usize = 256;
/// An offer shows a few photos; more urls than this are a mistake of the sender.
const MAX_URLS: usize = 1_000;

/// The consumer of [`crate::REQUESTS_TOPIC`].
pub struct Requests {
    pub clock: Clock,
}

#[async_trait]
impl Handler for Requests {
    fn shard_of(&self, record: &Record) -> Result<Shard, Undecodable> {
        Ok(Shard::of(&decode(record)?.seller_id))
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> Result<(), Failure> {
        for record in records {
            let request = decode(record).map_err(|Undecodable(reason)| Failure::Determinate(reason))?;
            receive(tx, request, self.clock.now().0).await.map_err(failure)?;
        }
        Ok(())
    }
}

async fn receive(tx: &mut Tx, mut request: PhotoRequest, now: i64) -> crate::Result<()> {
    let released = std::mem::take(&mut request.released_urls);
    if !released.is_empty() {
        release(tx, &request.seller_id, request.offer_id, &released).await?;
    }
    if request.urls.is_empty() {
        return Ok(());
    }
    let known = known(tx, &request.seller_id, &request.urls).await?;
    if request.urls.iter().all(|url| known.contains_key(url)) {
        answer(tx, &request, &[], &BTreeMap::new(), now).await?;
        return Ok(());
    }
    let key = (request.offer_id, request.request_id.clone());
    let row = RequestRow { request: Some(request), released_urls: Vec::new(), received_at: now };
    tx.put(&REQUESTS, &key, &row)?;
    tx.wake(ROLE);
    Ok(())
}

fn decode(record: &Record) -> Result<PhotoRequest, Undecodable> {
    let request =
        PhotoRequest::decode(record.payload.clone()).map_err(|error| Undecodable(error.to_string()))?;
    model::names::check_seller(&request.seller_id).map_err(|error| Undecodable(error.to_string()))?;
    let id = &request.request_id;
    if (id.is_empty() && !request.urls.is_empty()) || id.len() > MAX_REQUEST_ID_BYTES || id.contains('\0') {
        return Err(Undecodable("a request's id has 1 to 256 bytes".to_owned()));
    }
    if request.urls.len().max(request.released_urls.len()) > MAX_URLS {
        return Err(Undecodable(format!("a request has at most {MAX_URLS} urls")));
    }
    Ok(request)
}

pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Store(error) => error.into(),
        Error::Topics(error) => error.into(),
        error => Failure::transient(error),
    }
}
