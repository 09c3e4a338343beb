//! A file that a seller hands over becomes a load.
//!
//! | step | what | a crash behind it leaves |
//! | --- | --- | --- |
//! | check | a read: the feed may be uploaded into, the quota has room for what is announced | nothing |
//! | charge (T) | the quota: one upload and its first bytes | an upload less in this hour |
//! | receive | the stream goes into a temp file, within the limits of size and silence, and its bytes are charged before they are written; hash and size are known | a temp file, removed by the files' sweep |
//! | put (shard of the hash) | the object is stored, its reference pending | a pending reference; the sweep asks [`file_is_used`], hears `Gone` and lets it go |
//! | make (seller's shard) | feed (if new), bytes charged and not used, task, queue in one transaction; if it fails, the reference goes | a load that will be processed; the sweep hears `Held` and confirms |
//! | confirm (shard of the hash) | the reference is held | nothing |
//!
//! The load's number is given in the transaction that puts it into the queue, so the order of the numbers is the order of
//! the queue, however long each file took to arrive.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use files::{Answer, Hash, Limits, Referrer, Stored};
use futures::{Stream, StreamExt as _, stream};
use store::{Read as _, Tx};
use wire::feeds::{FeedRow, QuotaRow, TaskFile, TaskSource};

use crate::tables::{FEED, QUOTAS};
use crate::tasks::{self, FeedKey, NewTask};
use crate::{Error, Feeds, Result, feed, quota};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

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
    check(feeds, key, &upload).await?;
    let meter = Meter::begin(feeds, key, upload.expected_bytes.unwrap_or(0)).await?;
    let max_bytes = feeds.settings.max_file_bytes;
    let limits = Limits { max_bytes, expected_bytes: upload.expected_bytes };
    let stream = meter.metered(impatient(stream, feeds.settings.idle_timeout));
    let received = feeds.files.receive(stream, limits).await;
    let charged = meter.end()?;
    let incoming = received?;
    let referrer = new_referrer(key)?;
    let stored = feeds.files.put(incoming, &referrer).await?;
    let made = make(feeds, key, stored, &referrer, &upload, charged).await;
    if let Err(error) = &made
        && !error.may_have_happened()
    {
        feeds.files.abandon(&stored.hash, &referrer).await;
    }
    let task_id = made?;
    feeds.files.confirm(&stored.hash, &referrer).await?;
    Ok(task_id)
}

/// Bytes of an upload that are charged at a time.
const INSTALMENT_BYTES: i64 = 64 << 20;

/// Charges the bytes of a stream before anybody takes them.
struct Meter<'a> {
    feeds: &'a Feeds,
    key: &'a FeedKey,
    charged: AtomicI64,
    refused: Mutex<Option<Error>>,
}

impl<'a> Meter<'a> {
    /// One upload, and what is announced up to an instalment.
    async fn begin(feeds: &'a Feeds, key: &'a FeedKey, announced: u64) -> Result<Self> {
        let first = i64::try_from(announced).unwrap_or(i64::MAX).min(INSTALMENT_BYTES);
        let meter = Self { feeds, key, charged: AtomicI64::new(0), refused: Mutex::default() };
        meter.charge(&QuotaRow { uploads: 1, bytes: first, ..QuotaRow::default() }).await?;
        Ok(meter)
    }

    async fn charge(&self, more: &QuotaRow) -> Result<()> {
        let charge = async |tx: &mut Tx| quota::charge(tx, self.feeds, self.key, more).await;
        self.feeds.store.transact(self.key.shard(), charge).await?;
        self.charged.fetch_add(more.bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Ahead by an instalment while the quota has room for it, so that few pieces need a transaction.
    async fn pay(&self, came: i64) -> Result<()> {
        let missing = came - self.charged.load(Ordering::Relaxed);
        if missing <= 0 {
            return Ok(());
        }
        let bytes = |bytes| QuotaRow { bytes, ..QuotaRow::default() };
        match self.charge(&bytes(missing + INSTALMENT_BYTES)).await {
            Err(Error::Quota { .. }) => self.charge(&bytes(missing)).await,
            charged => charged,
        }
    }

    fn metered(
        &self,
        stream: impl Stream<Item = std::result::Result<Bytes, BoxError>> + Send,
    ) -> impl Stream<Item = std::result::Result<Bytes, BoxError>> + Send {
        let meter = self;
        stream::try_unfold((Box::pin(stream), 0_i64), move |(mut stream, mut came)| async move {
            let Some(chunk) = stream.next().await.transpose()? else { return Ok(None) };
            came += chunk.len() as i64;
            if let Err(error) = meter.pay(came).await {
                *meter.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return Err("the quota is used up".into());
            }
            Ok(Some((chunk, (stream, came))))
        })
    }

    /// What was charged, unless there was no room for it.
    fn end(self) -> Result<i64> {
        match self.refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self.charged.into_inner()),
        }
    }
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
async fn check(feeds: &Feeds, key: &FeedKey, upload: &Upload) -> Result<()> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    if let Some(row) = snapshot.get(&FEED, key.row()).await? {
        may_upload(&row)?;
    }
    let used = snapshot.get(&QUOTAS, (key.seller.as_str(),)).await?.unwrap_or_default();
    let bytes = i64::try_from(upload.expected_bytes.unwrap_or(0)).unwrap_or(i64::MAX);
    quota::add(feeds, used, &QuotaRow { uploads: 1, bytes, ..QuotaRow::default() }).map(drop)
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
    charged: i64,
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
        let unused = charged - stored.size as i64;
        if unused > 0 {
            quota::refund_bytes(tx, feeds, key, unused).await?;
        }
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
