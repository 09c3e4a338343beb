//! A file that a seller hands over becomes a load.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | check | a read: the feed may be uploaded into, the quota has room | nothing |
//! | receive | the stream goes into a temp file, within the limits of size and silence; hash and size are known | a temp file, removed by the files' sweep |
//! | put (shard of the hash) | the object is stored, its reference pending | a pending reference; the sweep asks [`file_is_used`], hears `Gone` and lets it go |
//! | make (seller's shard) | feed (if new), quota, task, queue in one transaction | a load that will be processed; the sweep hears `Held` and confirms |
//! | confirm (shard of the hash) | the reference is held | nothing |
//!
//! The load's number is given in the transaction that puts it into the queue, so the order of the numbers is the order of
//! the queue, however long each file took to arrive.

use std::time::Duration;

use bytes::Bytes;
use files::{Answer, Hash, Limits, Referrer, Stored};
use futures::{Stream, StreamExt as _, stream};
use store::{Read as _, Tx};
use wire::feeds::{FeedRow, QuotaRow, TaskFile, TaskSource};

use crate::tables::{FEED, QUOTAS};
use crate::tasks::{self, FeedKey, NewTask};
use crate::{Error, Feeds, Result, feed};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const HOUR_MICROS: i64 = 3_600_000_000;

/// How an upload is to be taken.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    /// As it is shown in the history.
    pub name: String,
    pub dry_run: bool,
    /// As the sender announced it.
    pub expected_bytes: Option<u64>,
    /// Collected by a service.
    pub parsed: bool,
}

/// Takes the file in and makes a load of it; the answer is the load's number.
pub async fn upload<E>(
    feeds: &Feeds,
    key: &FeedKey,
    stream: impl Stream<Item = std::result::Result<Bytes, E>> + Send,
    upload: Upload,
) -> Result<i64>
where
    E: Into<BoxError>,
{
    check(feeds, key).await?;
    let max_bytes = feeds.settings.max_file_bytes;
    let limits = Limits { max_bytes, expected_bytes: upload.expected_bytes };
    let incoming = feeds.files.receive(impatient(stream, feeds.settings.idle_timeout), limits).await?;
    let referrer = new_referrer(key)?;
    let stored = feeds.files.put(incoming, &referrer).await?;
    let task_id = make(feeds, key, stored, &referrer, &upload).await?;
    feeds.files.confirm(&stored.hash, &referrer).await?;
    Ok(task_id)
}

/// The stream, which fails when its sender falls silent.
fn impatient<E>(
    stream: impl Stream<Item = std::result::Result<Bytes, E>> + Send,
    idle: Duration,
) -> impl Stream<Item = std::result::Result<Bytes, BoxError>> + Send
where
    E: Into<BoxError>,
{
    stream::try_unfold(Box::pin(stream), move |mut stream| async move {
        match tokio::time::timeout(idle, stream.next()).await {
            Ok(Some(chunk)) => Ok(Some((chunk.map_err(Into::into)?, stream))),
            Ok(None) => Ok(None),
            Err(_) => Err(format!("nothing came for {} s", idle.as_secs_f64()).into()),
        }
    })
}

/// Nobody sends gigabytes to be told that they are not wanted.
async fn check(feeds: &Feeds, key: &FeedKey) -> Result<()> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    if let Some(row) = snapshot.get(&FEED, key.row()).await? {
        may_upload(&row)?;
    }
    let used = snapshot.get(&QUOTAS, (key.seller.as_str(),)).await?.unwrap_or_default();
    spend(feeds, used, 0).map(drop)
}

fn may_upload(feed: &FeedRow) -> Result<()> {
    let url = feed.settings.as_ref().map_or("", |settings| settings.url.as_str());
    if feed::is_active(feed) && !url.is_empty() {
        let detail = "the feed is fetched from its url; remove the url to upload files into it";
        return Err(Error::conflict("fetched_by_url", detail));
    }
    Ok(())
}

/// The transaction that makes the load.
pub(crate) async fn make(
    feeds: &Feeds,
    key: &FeedKey,
    stored: Stored,
    referrer: &Referrer,
    upload: &Upload,
) -> Result<i64> {
    let file = TaskFile {
        hash: stored.hash.as_bytes().to_vec(),
        bytes: stored.size as i64,
        referrer: referrer.as_str().to_owned(),
    };
    let source = if upload.parsed { TaskSource::SourceParsed } else { TaskSource::SourceUpload };
    let body = async |tx: &mut Tx| {
        let mut row = feed::open_or_make(tx, feeds, key).await?;
        may_upload(&row)?;
        if row.paused {
            return Err(Error::conflict("paused", "the feed is paused; resume it first"));
        }
        let used = tx.get(&QUOTAS, (key.seller.as_str(),)).await?.unwrap_or_default();
        tx.put(&QUOTAS, (key.seller.as_str(),), &spend(feeds, used, stored.size as i64)?)?;
        let new = NewTask {
            source,
            source_name: upload.name.clone(),
            file: file.clone(),
            dry_run: upload.dry_run,
            repeats_task_id: 0,
        };
        let (task_id, _) = tasks::create(tx, feeds, key, &mut row, new).await?;
        tx.put(&FEED, key.row(), &row)?;
        Ok(task_id)
    };
    feeds.store.transact(key.shard(), body).await
}

/// The quota after one more upload, unless it is used up.
fn spend(feeds: &Feeds, mut used: QuotaRow, bytes: i64) -> Result<QuotaRow> {
    let hour = feeds.clock.now().0 / HOUR_MICROS;
    if used.hour != hour {
        used = QuotaRow { hour, ..QuotaRow::default() };
    }
    let (uploads, most_bytes) = (feeds.settings.uploads_per_hour, feeds.settings.upload_bytes_per_hour);
    if used.uploads >= uploads {
        let detail = format!("a seller may upload {uploads} files an hour");
        return Err(Error::Quota { name: "quota_uploads", detail });
    }
    if used.bytes.saturating_add(bytes) > most_bytes {
        let detail = format!("a seller may upload {most_bytes} bytes an hour");
        return Err(Error::Quota { name: "quota_bytes", detail });
    }
    used.uploads += 1;
    used.bytes += bytes;
    Ok(used)
}

/// A referrer names one use of a file, so it is random; the feed in it finds the loads that may have it.
pub(crate) fn new_referrer(key: &FeedKey) -> Result<Referrer> {
    Ok(Referrer::new(format!("feeds:{}/{}/{}", kit::random_id(), key.namespace, key.seller))?)
}

/// What the files' sweep asks about a reference that is still pending: whether some load has it. A feed keeps few loads,
/// so they are walked.
pub async fn file_is_used(feeds: &Feeds, referrer: &Referrer) -> Answer {
    match find_use(feeds, referrer).await {
        Ok(true) => Answer::Held,
        Ok(false) => Answer::Gone,
        Err(error) => {
            tracing::warn!(%referrer, "whether a file is used cannot be told now: {error}");
            Answer::Unknown
        }
    }
}

async fn find_use(feeds: &Feeds, referrer: &Referrer) -> Result<bool> {
    let mut parts = referrer.as_str().splitn(3, '/').skip(1);
    let (Some(namespace), Some(seller)) = (parts.next(), parts.next()) else { return Ok(false) };
    let Ok(key) = FeedKey::new(seller, namespace) else { return Ok(false) };
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let feed = snapshot.get(&FEED, key.row()).await?;
    let fingerprints = feed.and_then(|feed| feed.fingerprints).map(|fingerprints| fingerprints.referrer);
    if fingerprints.as_deref() == Some(referrer.as_str()) {
        return Ok(true);
    }
    is_used(&snapshot, &key, referrer.as_str()).await
}

/// Whether some load of the feed has the file under this reference.
pub(crate) async fn is_used(reader: &impl store::Read, key: &FeedKey, referrer: &str) -> Result<bool> {
    let mut pages = tasks::Pages::oldest_first(key)?;
    loop {
        let page = pages.next(reader).await?;
        if page.is_empty() {
            return Ok(false);
        }
        let mut files = page.iter().filter_map(|(_, task)| task.file.as_ref());
        if files.any(|file| file.referrer == referrer) {
            return Ok(true);
        }
    }
}

/// The hash as stored in a row.
pub(crate) fn hash_of(bytes: &[u8]) -> Option<Hash> {
    Some(Hash::from_bytes(bytes.try_into().ok()?))
}
