//! Records that could not be applied, kept with the reason until somebody retries or drops them.

use kit::Timestamp;
use store::{Range, Read as _, SHARDS, Shard};

use crate::backend::Description;
use crate::tables::{DEAD_LETTER_BODIES, DEAD_LETTERS, DeadLetterRow, LetterKey, RETRIES, RecordRow};
use crate::{Record, Result, Topics, metrics};

/// The channel on which consumers are told of letters to try again.
pub(crate) const CHANNEL: &str = "dead_letters";

/// Which record it is, for which group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Id {
    pub group: String,
    pub topic: String,
    pub incarnation: String,
    pub partition: u32,
    pub offset: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DeadLetter {
    #[serde(flatten)]
    pub id: Id,
    pub reason: String,
    pub failed_at: Timestamp,
    pub first_failed_at: Timestamp,
    pub attempts: u32,
    pub size: u64,
}

/// Which letters to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub group: Option<String>,
    /// Counts only together with the group.
    pub topic: Option<String>,
}

/// At most `limit` letters behind `after`, in an order that stays.
pub async fn list(
    topics: &Topics,
    filter: &Filter,
    after: Option<&Id>,
    limit: usize,
) -> Result<Vec<DeadLetter>> {
    let range = || match filter {
        Filter { group: Some(group), topic: Some(topic) } => Range::prefix((group, topic), limit),
        Filter { group: Some(group), topic: None } => Range::prefix((group,), limit),
        Filter { group: None, .. } => Ok(Range::all(limit)),
    };
    let (range, cursor) = match after {
        Some(id) => (range()?, Some((shard(id.partition), range()?.after(id.key())?))),
        None => (range()?, None),
    };
    let picked = |key, row| Some(letter(key, row));
    topics.store().scan_after(&DEAD_LETTERS, &range, cursor, limit, picked).await
}

/// The record of a letter; `None` when there is no such letter.
pub async fn record(topics: &Topics, id: &Id) -> Result<Option<Record>> {
    let row = topics.store().snapshot(shard(id.partition)).await?.get(&DEAD_LETTER_BODIES, id.key()).await?;
    Ok(row.map(|row| row.at(id.partition, id.offset)))
}

/// The record of a letter as it is to be tried again, and which of the record's letters it is.
pub(crate) async fn open(topics: &Topics, id: &Id) -> Result<Option<(Record, i64)>> {
    let snapshot = topics.store().snapshot(shard(id.partition)).await?;
    let Some(row) = snapshot.get(&DEAD_LETTERS, id.key()).await? else { return Ok(None) };
    let body = snapshot.get(&DEAD_LETTER_BODIES, id.key()).await?;
    Ok(body.map(|body| (body.at(id.partition, id.offset), row.buried_at)))
}

/// Asks whoever reads the partition to try the letter once more; `false` when there is no such letter.
pub async fn retry(topics: &Topics, id: &Id) -> Result<bool> {
    topics
        .store()
        .transact(shard(id.partition), async |tx| {
            if tx.get(&DEAD_LETTERS, id.key()).await?.is_none() {
                return Ok(false);
            }
            tx.put(&RETRIES, id.key(), &())?;
            tx.wake(CHANNEL);
            Ok(true)
        })
        .await
}

/// Throws the letter away; `false` when there is no such letter.
pub async fn drop(topics: &Topics, id: &Id) -> Result<bool> {
    let was_there =
        topics.store().snapshot(shard(id.partition)).await?.get(&DEAD_LETTERS, id.key()).await?.is_some();
    discard(topics, id).await?;
    Ok(was_there)
}

impl Id {
    pub(crate) fn key(&self) -> (&str, &str, &str, u32, i64) {
        (&self.group, &self.topic, &self.incarnation, self.partition, self.offset)
    }
}

impl From<LetterKey> for Id {
    fn from((group, topic, incarnation, partition, offset): LetterKey) -> Self {
        Self { group, topic, incarnation, partition, offset }
    }
}

/// The shard of a partition's letters.
pub(crate) fn shard(partition: u32) -> Shard {
    Shard::wrapping(u64::from(partition) % u64::from(SHARDS))
}

/// Keeps a record; one that is there already stays as it is.
pub(crate) async fn bury(
    topics: &Topics,
    description: &Description,
    group: &str,
    record: &Record,
    reason: &str,
    attempts: u32,
) -> Result<()> {
    let id = Id {
        group: group.to_owned(),
        topic: description.topic.clone(),
        incarnation: description.incarnation.clone(),
        partition: record.partition,
        offset: record.offset,
    };
    let failed_at = topics.options().clock.now().0;
    let size = record.size() as u64;
    let row = DeadLetterRow { reason: reason.to_owned(), failed_at, attempts, size, buried_at: failed_at };
    let body = RecordRow::from(record.clone());
    let new = topics
        .store()
        .transact(shard(id.partition), async |tx| {
            if tx.get(&DEAD_LETTERS, id.key()).await?.is_some() {
                return Ok(false);
            }
            tx.put(&DEAD_LETTERS, id.key(), &row)?;
            tx.put(&DEAD_LETTER_BODIES, id.key(), &body)?;
            Ok::<_, crate::Error>(true)
        })
        .await?;
    if new {
        let Id { group, topic, partition, offset, .. } = &id;
        tracing::warn!(group, topic, partition, offset, reason, "a record became a dead letter");
        metrics::dead_letter(topic, group);
    }
    Ok(())
}

/// Notes the new reason and that nobody waits for the letter any more.
pub(crate) async fn failed_again(topics: &Topics, id: &Id, reason: &str) -> Result<()> {
    let now = topics.options().clock.now().0;
    topics
        .store()
        .transact(shard(id.partition), async |tx| {
            if let Some(mut row) = tx.get(&DEAD_LETTERS, id.key()).await? {
                row.attempts += 1;
                row.failed_at = now;
                reason.clone_into(&mut row.reason);
                tx.put(&DEAD_LETTERS, id.key(), &row)?;
            }
            tx.delete(&RETRIES, id.key())?;
            Ok(())
        })
        .await
}

/// Removes the letter and all that hangs on it.
pub(crate) async fn discard(topics: &Topics, id: &Id) -> Result<()> {
    topics
        .store()
        .transact(shard(id.partition), async |tx| {
            tx.delete(&DEAD_LETTERS, id.key())?;
            tx.delete(&DEAD_LETTER_BODIES, id.key())?;
            tx.delete(&RETRIES, id.key())?;
            Ok(())
        })
        .await
}

fn letter(key: LetterKey, row: DeadLetterRow) -> DeadLetter {
    let DeadLetterRow { reason, failed_at, attempts, size, buried_at } = row;
    let (failed_at, first_failed_at) = (Timestamp(failed_at), Timestamp(buried_at));
    DeadLetter { id: key.into(), reason, failed_at, first_failed_at, attempts, size }
}
