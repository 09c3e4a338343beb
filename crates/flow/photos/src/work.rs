//! The worker: takes requests of the shards whose token it holds, and answers them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kit::{Backoff, Shutdown};
use store::{Range, Read as _, Shard};
use tokio::time::Instant;

use crate::answer::{answer, known};
use crate::store_photo::{Outcome, confirm, fetch_photo};
use crate::tables::{REQUESTS, RequestRow};
use crate::{Error, Photos, ROLE, Result, metrics};

/// Wake-ups can be lost; then requests wait this long at most.
const SAFETY_POLL: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Requests looked at in a shard.
const PAGE: usize = 64;
/// Urls of one request that are fetched at the same time.
const URLS_AT_ONCE: usize = 4;

type RequestKey = (i64, String);
type Ended = (Shard, RequestKey, Result<()>);

/// Answers requests until the shutdown is called; what is under way then is left to the next holder of its token.
pub async fn run(photos: Photos, shutdown: Shutdown) {
    if let Some(cluster) = &photos.cluster {
        cluster.register_role(ROLE, store::SHARDS);
    }
    let wakes = photos.store.wakes().listen(ROLE);
    let mut tokens = photos.cluster.as_ref().map(|cluster| cluster.watch(ROLE));
    let mut worker = Worker::default();
    let mut look_at = Instant::now();
    while !shutdown.is_called() {
        let resume_at = worker.resume_at().map_or(look_at, |resume| resume.min(look_at));
        tokio::select! {
            Some(ended) = worker.running.next() => {
                worker.ended(ended);
                worker.look(&photos, &BTreeSet::new()).await;
            }
            woken = wakes.woken() => {
                worker.look(&photos, &woken).await;
            }
            () = changed(&mut tokens) => look_at = Instant::now(),
            () = tokio::time::sleep_until(resume_at) => {
                let all: BTreeSet<Shard> = held(&photos).into_iter().collect();
                look_at = Instant::now() + if worker.look(&photos, &all).await { SAFETY_POLL } else { LOOK_AGAIN };
            }
            () = shutdown.called() => {}
        }
    }
}

/// Answers what waits in these shards now, one request after another; for tests and for commands.
pub async fn work_shards(photos: &Photos, shards: &[Shard]) -> Result<usize> {
    let mut answered = 0;
    for (shard, key, row) in photos.store.scan_shards(&REQUESTS, shards, Range::all(PAGE)).await? {
        work(photos, shard, &key, &row).await?;
        answered += 1;
    }
    Ok(answered)
}

fn held(photos: &Photos) -> Vec<Shard> {
    photos.cluster.as_ref().map_or_else(|| Shard::all().collect(), |cluster| cluster.held(ROLE))
}

async fn changed(tokens: &mut Option<tokio::sync::watch::Receiver<u64>>) {
    if let Some(tokens) = tokens
        && tokens.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

#[derive(Default)]
struct Worker {
    running: FuturesUnordered<BoxFuture<'static, Ended>>,
    busy: BTreeSet<(Shard, RequestKey)>,
    /// Shards whose requests did not all find room.
    more: BTreeSet<Shard>,
    /// Requests that failed for reasons of ours, and when they are tried again.
    failed: HashMap<(Shard, RequestKey), (Backoff, Instant)>,
}

impl Worker {
    /// Begins what waits in these shards and in those left over, as far as there is room. `false`: could not look.
    async fn look(&mut self, photos: &Photos, shards: &BTreeSet<Shard>) -> bool {
        self.more.extend(shards);
        let room = photos.settings.downloads.max(1);
        while self.running.len() < room && !self.more.is_empty() {
            let held: BTreeSet<Shard> = held(photos).into_iter().collect();
            let shards: Vec<Shard> = std::mem::take(&mut self.more).intersection(&held).copied().collect();
            let scan = photos.store.scan_shards(&REQUESTS, &shards, Range::all(PAGE + self.busy.len()));
            let (rows, ended) = kit::beside(&mut self.running, scan).await;
            let failure = rows.map(|rows| self.begin(photos, rows, room)).err();
            // Only now: what ended while the rows were read may be among them.
            for ended in ended {
                self.ended(ended);
            }
            if let Some(error) = failure {
                tracing::warn!("photo requests could not be looked for: {error}");
                self.more.extend(shards);
                return false;
            }
        }
        true
    }

    /// Begins requests while there is room; the shards of the others are left over.
    fn begin(&mut self, photos: &Photos, rows: Vec<(Shard, RequestKey, RequestRow)>, room: usize) {
        metrics::waiting(rows.len());
        let now = Instant::now();
        for (shard, key, row) in rows {
            let place = (shard, key);
            if self.busy.contains(&place) || self.failed.get(&place).is_some_and(|(_, until)| *until > now) {
                continue;
            }
            if self.running.len() >= room {
                self.more.insert(shard);
                continue;
            }
            self.busy.insert(place.clone());
            let photos = photos.clone();
            self.running.push(Box::pin(async move {
                let (shard, key) = place;
                let result = work(&photos, shard, &key, &row).await;
                (shard, key, result)
            }));
        }
    }

    fn ended(&mut self, (shard, key, result): Ended) {
        let place = (shard, key);
        self.busy.remove(&place);
        self.more.insert(shard);
        match result {
            Ok(()) => {
                self.failed.remove(&place);
            }
            Err(error) => {
                metrics::retried();
                let failed = self.failed.entry(place);
                let (backoff, until) = failed.or_insert_with(|| {
                    (Backoff::new(Duration::from_millis(200), Duration::from_secs(60)), Instant::now())
                });
                let wait = backoff.next_wait();
                *until = Instant::now() + wait;
                tracing::warn!(shard = shard.number(), ?wait, "a photo request is tried again: {error}");
            }
        }
    }

    fn resume_at(&self) -> Option<Instant> {
        self.failed
            .iter()
            .filter(|(place, _)| !self.busy.contains(*place))
            .map(|(_, (_, until))| *until)
            .min()
    }
}

/// Answers one request. Fails only for reasons of ours; then nothing has happened that counts.
async fn work(photos: &Photos, shard: Shard, key: &RequestKey, row: &RequestRow) -> Result<()> {
    let request = row.request.clone().unwrap_or_default();
    let snapshot = photos.store.snapshot(shard).await?;
    let known = known(&snapshot, &request.seller_id, &request.urls).await?;
    drop(snapshot);
    let unknown: BTreeSet<String> =
        request.urls.iter().filter(|url| !known.contains_key(*url)).cloned().collect();
    let fetches: Vec<_> =
        unknown.into_iter().map(|url| fetch_one(photos.clone(), request.seller_id.clone(), url)).collect();
    let fetched: Vec<Result<(String, Outcome)>> =
        futures::stream::iter(fetches).buffer_unordered(URLS_AT_ONCE).collect().await;
    let outcomes: BTreeMap<String, Outcome> = fetched.into_iter().collect::<Result<_>>()?;
    let written = photos
        .store
        .transact(shard, async |tx| {
            if let Some(cluster) = &photos.cluster {
                cluster.check(tx, ROLE).await?;
            }
            // Answered meanwhile: what was stored here is let go by the sweep.
            let Some(row) = tx.get(&REQUESTS, key).await? else {
                return Ok::<_, Error>(Vec::new());
            };
            tx.delete(&REQUESTS, key)?;
            answer(tx, &request, &row.released_urls, &outcomes, photos.clock.now().0).await
        })
        .await?;
    confirm(photos, &written).await;
    Ok(())
}

async fn fetch_one(photos: Photos, seller: String, url: String) -> Result<(String, Outcome)> {
    let outcome = fetch_photo(&photos, &seller, &url).await?;
    Ok((url, outcome))
}
