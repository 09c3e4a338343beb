//! The worker: takes requests of the shards whose token it holds, and answers them.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use futures::StreamExt as _;
use kit::Timestamp;
use store::{Read as _, Shard, Tx};

use crate::answer::{answer, known};
use crate::store_photo::{Outcome, confirm, fetch_photo};
use crate::tables::{REQUESTS, RequestRow, UrlRow};
use crate::{Error, Photos, ROLE, Result, issue};

/// Urls of one request that are fetched at the same time.
const URLS_AT_ONCE: usize = 4;
/// An image that kills its process this often is refused.
const MAX_TRIES: u32 = 8;

/// Seller, offer, request.
pub(crate) type RequestKey = (String, i64, String);

/// Requests that wait for an answer.
pub struct Requested(pub Photos);

#[async_trait]
impl Work for Requested {
    type Key = RequestKey;
    type Error = Error;

    fn plan(&self) -> Plan {
        let plan = Plan::new("photos", ROLE, ROLE, self.0.settings.downloads.max(1));
        Plan { max_tries: Some(MAX_TRIES), ..plan }
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<RequestKey>> {
        let entry =
            |key: RequestKey, _| Some(Entry { at: Timestamp(0), owner: key.0.clone(), key, long: false });
        Ok(head_by_owner(&self.0.store, &REQUESTS, shards, entry).await?)
    }

    /// Fails only for reasons of ours; then nothing has happened that counts.
    async fn run(&self, shard: Shard, key: &RequestKey) -> Result<Done> {
        let photos = &self.0;
        let Some((row, known)) = self.read(shard, key).await? else { return Ok(Done::Finished) };
        let outcomes = fetch_all(photos, &row, &known).await?;
        let written = self.answer(shard, key, &row, &outcomes).await?;
        confirm(photos, &written).await;
        Ok(Done::Finished)
    }

    /// The photos that killed their worker are refused like any broken ones.
    async fn give_up(&self, shard: Shard, key: &RequestKey, _: &str) -> Result<()> {
        let Some((row, known)) = self.read(shard, key).await? else { return Ok(()) };
        let damage = || vec!["it cannot be worked on".to_owned()];
        let refused = |url: &String| Err(Box::new(issue::issue("photo_damaged", url, damage())));
        let outcomes = unknown(&row, &known).into_iter().map(|url| (url.clone(), refused(&url))).collect();
        self.answer(shard, key, &row, &outcomes).await.map(drop)
    }
}

impl Requested {
    /// The request, if it still waits, and which of its urls are known.
    async fn read(
        &self,
        shard: Shard,
        key: &RequestKey,
    ) -> Result<Option<(RequestRow, BTreeMap<String, UrlRow>)>> {
        let snapshot = self.0.store.snapshot(shard).await?;
        let Some(row) = snapshot.get(&REQUESTS, key).await? else { return Ok(None) };
        let request = row.request.clone().unwrap_or_default();
        let known = known(&snapshot, &request.seller_id, &request.urls).await?;
        Ok(Some((row, known)))
    }

    /// T: what is known now goes out, and the request goes.
    async fn answer(
        &self,
        shard: Shard,
        key: &RequestKey,
        row: &RequestRow,
        outcomes: &BTreeMap<String, Outcome>,
    ) -> Result<Vec<UrlRow>> {
        let request = row.request.clone().unwrap_or_default();
        let answer = async |tx: &mut Tx| {
            self.0.cluster.check(tx, ROLE).await?;
            // Answered meanwhile: what was stored here is let go by the sweep.
            let Some(row) = tx.get(&REQUESTS, key).await? else { return Ok::<_, Error>(Vec::new()) };
            tx.delete(&REQUESTS, key)?;
            answer(tx, &request, &row.released_urls, outcomes, self.0.clock.now().0).await
        };
        self.0.store.transact(shard, answer).await
    }
}

fn unknown(row: &RequestRow, known: &BTreeMap<String, UrlRow>) -> BTreeSet<String> {
    let urls = row.request.iter().flat_map(|request| &request.urls);
    urls.filter(|url| !known.contains_key(*url)).cloned().collect()
}

async fn fetch_all(
    photos: &Photos,
    row: &RequestRow,
    known: &BTreeMap<String, UrlRow>,
) -> Result<BTreeMap<String, Outcome>> {
    let seller = row.request.as_ref().map(|request| request.seller_id.clone()).unwrap_or_default();
    let fetches: Vec<_> =
        unknown(row, known).into_iter().map(|url| fetch_one(photos.clone(), seller.clone(), url)).collect();
    let fetched: Vec<Result<(String, Outcome)>> =
        futures::stream::iter(fetches).buffer_unordered(URLS_AT_ONCE).collect().await;
    fetched.into_iter().collect()
}

async fn fetch_one(photos: Photos, seller: String, url: String) -> Result<(String, Outcome)> {
    let outcome = fetch_photo(&photos, &seller, &url).await?;
    Ok((url, outcome))
}
