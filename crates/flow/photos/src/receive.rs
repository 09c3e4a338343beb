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
use crate::tables::{PHOTO_URLS, REQUESTS, RequestRow, url_hash};
use crate::{ROLE, Release, release};

const MAX_REQUEST_ID_BYTES: usize = 256;
/// An offer shows a few photos; more urls than this are a mistake of the sender.
const MAX_URLS: usize = 1_000;

/// The consumer of [`model::topics::PHOTOS_REQUESTS`].
pub struct Requests {
    pub clock: Clock,
}

#[async_trait]
impl Handler for Requests {
    type Message = PhotoRequest;

    fn decode(&self, record: &Record) -> Result<(Shard, PhotoRequest), Undecodable> {
        let request = decode(record)?;
        Ok((Shard::of(&request.seller_id), request))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<PhotoRequest>) -> Result<(), Failure> {
        prefetch(tx, &messages).await?;
        // Neighbours that only let urls go share their reads.
        let mut releases = Vec::new();
        for mut request in messages {
            let urls = std::mem::take(&mut request.released_urls);
            if !urls.is_empty() {
                let (seller, offer) = (request.seller_id.clone(), request.offer_id);
                releases.push(Release { seller, offer, urls });
            }
            if !request.urls.is_empty() {
                release(tx, &std::mem::take(&mut releases)).await?;
                receive(tx, request, self.clock.now().0).await?;
            }
        }
        Ok(release(tx, &releases).await?)
    }
}

/// Reads ahead what is known of all urls.
async fn prefetch(tx: &mut Tx, requests: &[PhotoRequest]) -> crate::Result<()> {
    let urls = requests.iter().flat_map(|request| {
        let urls = request.urls.iter().chain(&request.released_urls);
        urls.map(|url| (request.seller_id.as_str(), url_hash(url)))
    });
    Ok(tx.prefetch(&PHOTO_URLS, urls).await?)
}

async fn receive(tx: &mut Tx, request: PhotoRequest, now: i64) -> crate::Result<()> {
    let known = known(tx, &request.seller_id, &request.urls).await?;
    if request.urls.iter().all(|url| known.contains_key(url)) {
        answer(tx, &request, &[], &BTreeMap::new(), now).await?;
        return Ok(());
    }
    let key = (request.seller_id.clone(), request.offer_id, request.request_id.clone());
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
