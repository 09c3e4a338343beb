//! What finishes the work that a crash, a lost answer or a forgetful owner has left.

use kit::Timestamp;
use store::{Decode, Range, Read as _, Shard, Table};
use tokio::time::Instant;

use crate::incoming::TEMP_PREFIX;
use crate::objects::remove_old;
use crate::tables::{DELETIONS, PENDINGS};
use crate::{Files, Hash, ObjectName, Referrer, Result, metrics, protocol};

/// Rows taken from a shard at a time.
const PAGE: usize = 32;

/// What an owner says of a reference that is still pending after a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its row names the file.
    Held,
    /// Its row does not, and will not on account of this upload.
    Gone,
    /// It cannot tell now; it is asked again.
    Unknown,
}

/// What a sweep did. What failed stays for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub held: usize,
    pub gone: usize,
    pub unknown: usize,
    pub deleted: usize,
    pub failed: usize,
    pub temp_files: usize,
}

type PendingKey = (Timestamp, Vec<u8>, String);
type DeletionKey = (Timestamp, Vec<u8>, i64);

impl Files {
    /// Asks the owners about old pending references, deletes what is due and removes old temp files. Any number of
    /// processes may do so at any time.
    pub async fn sweep<A>(&self, ask: impl Fn(Referrer, Hash) -> A + Sync) -> Result<Swept>
    where
        A: Future<Output = Answer> + Send,
    {
        let shards: Vec<_> = Shard::all().collect();
        let mut swept = self.sweep_shards(&shards, ask).await?;
        swept.temp_files += self.objects.tidy(self.options.pending_age).await?;
        let temp_dir = self.options.temp_dir.clone();
        swept.temp_files += remove_old(temp_dir, TEMP_PREFIX, self.options.pending_age).await?;
        Ok(swept)
    }

    /// The rows of some of the shards, without the temp files.
    pub async fn sweep_shards<A>(
        &self,
        shards: &[Shard],
        ask: impl Fn(Referrer, Hash) -> A + Sync,
    ) -> Result<Swept>
    where
        A: Future<Output = Answer> + Send,
    {
        let mut swept = Swept::default();
        let before = self.now().minus(self.options.pending_age);
        let mut pages = Pages::new(&PENDINGS, shards, before);
        while let Some((shard, key)) = pages.next(self).await? {
            if let Err(error) = self.settle(shard, &key, &ask, &mut swept).await {
                tracing::warn!(referrer = key.2, "a pending file reference could not be settled: {error}");
                swept.failed += 1;
            }
        }
        self.delete_due_in(shards, &mut swept).await?;
        tracing::debug!(?swept, "files swept");
        Ok(swept)
    }

    /// Deletes the objects that nobody holds and that may go now.
    pub async fn delete_due(&self, shards: &[Shard]) -> Result<Swept> {
        let mut swept = Swept::default();
        self.delete_due_in(shards, &mut swept).await?;
        Ok(swept)
    }

    async fn settle<A: Future<Output = Answer>>(
        &self,
        shard: Shard,
        (since, hash, referrer): &PendingKey,
        ask: &impl Fn(Referrer, Hash) -> A,
        swept: &mut Swept,
    ) -> Result<()> {
        let (hash, referrer) = (Hash::from_column(hash)?, Referrer::new(referrer.as_str())?);
        match ask(referrer.clone(), hash).await {
            Answer::Held => {
                self.confirm(&hash, &referrer).await?;
                swept.held += 1;
                metrics::swept("held");
            }
            Answer::Gone => {
                let since = *since;
                let let_go = async |tx: &mut store::Tx| {
                    protocol::let_go_pending(tx, &hash, &referrer, since, self.now()).await
                };
                self.store.transact(shard, let_go).await?;
                swept.gone += 1;
                metrics::swept("gone");
            }
            Answer::Unknown => {
                swept.unknown += 1;
                metrics::swept("unknown");
            }
        }
        Ok(())
    }

    async fn delete_due_in(&self, shards: &[Shard], swept: &mut Swept) -> Result<()> {
        let mut pages = Pages::new(&DELETIONS, shards, self.now());
        while let Some((shard, key)) = pages.next(self).await? {
            match self.delete_object(shard, &key).await {
                Ok(()) => swept.deleted += 1,
                Err(error) => {
                    tracing::warn!("a file could not be deleted and is tried again later: {error}");
                    swept.failed += 1;
                }
            }
        }
        Ok(())
    }

    async fn delete_object(&self, shard: Shard, (due, hash, generation): &DeletionKey) -> Result<()> {
        let name = ObjectName { hash: Hash::from_column(hash)?, generation: *generation as u64 };
        let begun = Instant::now();
        let deleted = self.objects.delete(&name).await;
        metrics::object_call("delete", begun.elapsed(), &deleted);
        deleted?;
        self.store.transact(shard, async |tx| protocol::deleted(tx, &name, *due).await).await?;
        tracing::debug!(hash = %name.hash, generation, "file deleted");
        Ok(())
    }
}

/// The rows of an ordered table up to a moment, over many shards, page by page: each row once, wherever it stays.
struct Pages<'a, K: Decode + 'static> {
    table: &'static Table<K, ()>,
    shards: &'a [Shard],
    before: Timestamp,
    asked: bool,
    /// Found and not handed out yet, last first.
    ready: Vec<(Shard, K)>,
    /// Shards whose last page was full, with the key that ended it.
    more: Vec<(Shard, K)>,
}

impl<'a, K: Decode + 'static> Pages<'a, K> {
    fn new(table: &'static Table<K, ()>, shards: &'a [Shard], before: Timestamp) -> Self {
        Self { table, shards, before, asked: false, ready: Vec::new(), more: Vec::new() }
    }

    async fn next(&mut self, files: &Files) -> Result<Option<(Shard, K)>> {
        loop {
            if let Some(row) = self.ready.pop() {
                return Ok(Some(row));
            }
            let range = Range::all(PAGE).up_to((self.before,))?;
            let found = if !self.asked {
                self.asked = true;
                files.store.scan_shards(self.table, self.shards, range).await?
            } else if let Some((shard, last)) = self.more.pop() {
                let rows = files.store.snapshot(shard).await?.scan(self.table, range.after(&last)?).await?;
                rows.into_iter().map(|(key, ())| (shard, key, ())).collect()
            } else {
                return Ok(None);
            };
            self.take(found)?;
        }
    }

    fn take(&mut self, found: Vec<(Shard, K, ())>) -> Result<()> {
        let mut of_shard = 0;
        let mut rows = found.into_iter().peekable();
        while let Some((shard, key, ())) = rows.next() {
            of_shard += 1;
            if rows.peek().is_none_or(|(next, _, ())| *next != shard) {
                if of_shard == PAGE {
                    self.more.push((shard, K::decode(key.encode()?.as_slice())?));
                }
                of_shard = 0;
            }
            self.ready.push((shard, key));
        }
        self.ready.reverse();
        Ok(())
    }
}
