//! Messages that could not be stored: those that wait for another try, and those that nobody will try by themselves.
//!
//! A letter belongs to one section. It knows which of the documents that it would write have been written anew since
//! (each write notes that in its own transaction), so a late try never overwrites what is newer.

use kit::Timestamp;
use store::{Range, Read as _, Shard, Store, Tx};

use crate::error::Result;
use crate::tables::{BodyRow, LETTER_BODIES, LETTERS, LetterKey, LetterRow, RETRIES, Written};

/// Letters of one key that are read at once.
const PAGE: usize = 1_000;
/// Shards asked at once for a list.
const LIST_SHARDS: usize = 128;

/// Which message, for which section.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LetterId {
    pub key: String,
    pub topic: String,
    pub partition: u32,
    pub offset: i64,
    pub section: String,
}

impl LetterId {
    pub(crate) fn shard(&self) -> Shard {
        Shard::of(&self.key)
    }

    pub(crate) fn row(&self) -> (&str, &str, u32, i64, &str) {
        (&self.key, &self.topic, self.partition, self.offset, &self.section)
    }

    pub(crate) fn due(&self, at: i64) -> (Timestamp, &str, &str, u32, i64, &str) {
        (Timestamp(at), &self.key, &self.topic, self.partition, self.offset, &self.section)
    }
}

impl From<LetterKey> for LetterId {
    fn from((key, topic, partition, offset, section): LetterKey) -> Self {
        Self { key, topic, partition, offset, section }
    }
}

/// A message that could not be stored, as people see it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Letter {
    #[serde(flatten)]
    pub id: LetterId,
    pub reason: String,
    pub failed_at: Timestamp,
    pub attempts: u32,
    /// When it is tried again; null for a dead letter.
    pub not_before: Option<Timestamp>,
    /// Everything that it would write has been written anew since: trying it again is refused.
    pub superseded: bool,
    pub size: u64,
}

/// Whether the transaction's shard has letters at all. Most have none, and then no key of it need be asked for.
pub(crate) async fn any(tx: &Tx) -> store::Result<bool> {
    Ok(!tx.scan(&LETTERS, Range::all(1)).await?.is_empty())
}

/// Notes in every older letter of the key that these documents are newer now.
pub(crate) async fn note_overwritten(
    tx: &mut Tx,
    key: &str,
    written: &[Written],
    before: i64,
) -> store::Result<()> {
    if written.is_empty() {
        return Ok(());
    }
    for (id, mut row) in of_key(tx, key).await? {
        let new: Vec<_> = written
            .iter()
            .filter(|one| row.order < before && !row.overwritten.contains(one))
            .cloned()
            .collect();
        if !new.is_empty() {
            row.overwritten.extend(new);
            tx.put(&LETTERS, id, &row)?;
        }
    }
    Ok(())
}

/// Keeps a message that failed: to be tried again at `not_before`, or dead.
pub(crate) async fn keep(
    tx: &mut Tx,
    id: &LetterId,
    mut row: LetterRow,
    body: &BodyRow,
) -> store::Result<()> {
    let others = of_key(tx, &id.key).await?;
    row.order = others.iter().map(|(_, row)| row.order).max().unwrap_or_default() + 1;
    if let Some(at) = row.not_before {
        tx.put(&RETRIES, id.due(at), &())?;
        tx.wake(crate::retry::CHANNEL);
    }
    tx.put(&LETTERS, id.row(), &row)?;
    tx.put(&LETTER_BODIES, id.row(), body)
}

/// Removes a letter and all that hangs on it.
pub(crate) fn remove(tx: &mut Tx, id: &LetterId, row: &LetterRow) -> store::Result<()> {
    if let Some(at) = row.not_before {
        tx.delete(&RETRIES, id.due(at))?;
    }
    tx.delete(&LETTERS, id.row())?;
    tx.delete(&LETTER_BODIES, id.row())
}

/// All of them: one that were passed over could later overwrite what is newer.
async fn of_key(tx: &Tx, key: &str) -> store::Result<Vec<(LetterKey, LetterRow)>> {
    let mut letters: Vec<(LetterKey, LetterRow)> = Vec::new();
    loop {
        let mut range = Range::prefix((key,), PAGE)?;
        if let Some((last, _)) = letters.last() {
            range = range.after(last.clone())?;
        }
        let page = tx.scan(&LETTERS, range).await?;
        let is_last = page.len() < PAGE;
        letters.extend(page);
        if is_last {
            return Ok(letters);
        }
    }
}

/// At most `limit` letters behind `after`, in an order that stays.
pub(crate) async fn list(store: &Store, after: Option<&LetterId>, limit: usize) -> Result<Vec<Letter>> {
    let mut letters = Vec::new();
    let mut next_shard = 0;
    if let Some(id) = after {
        let range = Range::all(limit).after(id.row())?;
        let rows = store.scan_shards(&LETTERS, &[id.shard()], range).await?;
        letters.extend(rows.into_iter().map(|(_, key, row)| letter(key.into(), row)));
        next_shard = id.shard().index() + 1;
    }
    let rest: Vec<_> = Shard::all().skip(next_shard).collect();
    for shards in rest.chunks(LIST_SHARDS) {
        if letters.len() >= limit {
            break;
        }
        let rows = store.scan_shards(&LETTERS, shards, Range::all(limit)).await?;
        letters.extend(rows.into_iter().map(|(_, key, row)| letter(key.into(), row)));
    }
    letters.truncate(limit);
    Ok(letters)
}

/// Throws a letter away; `false` when there is none.
pub(crate) async fn discard(store: &Store, id: &LetterId) -> Result<bool> {
    store
        .transact(id.shard(), async |tx| {
            let Some(row) = tx.get(&LETTERS, id.row()).await? else { return Ok(false) };
            remove(tx, id, &row)?;
            Ok(true)
        })
        .await
}

pub(crate) fn letter(id: LetterId, row: LetterRow) -> Letter {
    Letter {
        id,
        reason: row.reason,
        failed_at: Timestamp(row.failed_at),
        attempts: row.attempts,
        not_before: row.not_before.map(Timestamp),
        superseded: row.superseded,
        size: row.size,
    }
}
