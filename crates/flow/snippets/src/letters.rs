//! Messages that could not be stored: those that wait for another try, and those that nobody will try by themselves.
//!
//! A letter belongs to one section. The letters of a key are numbered as they come, and a document that is written while
//! its key has letters notes, in its own transaction, up to which of them it is newer: so a late try never overwrites what
//! is newer, and no letter is read for it, however many wait.

use kit::Timestamp;
use store::{Range, Read as _, Shard, Store, Tx};

use crate::address::is_language;
use crate::config::Config;
use crate::error::Result;
use crate::prepare::{DocumentRef, documents};
use crate::put::Written;
use crate::tables::{BodyRow, LETTER_BODIES, LETTER_KEYS, LETTERS, LetterKey, LetterRow, NEWER, RETRIES};

/// Which message, for which section.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
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
    Ok(!tx.scan(&LETTER_KEYS, Range::all(1)).await?.is_empty())
}

/// Notes that these documents are newer than the key's letters: than all that are there, or up to the one of that order.
pub(crate) async fn note_newer(
    tx: &mut Tx,
    key: &str,
    written: &[Written<'_>],
    up_to: Option<i64>,
) -> store::Result<()> {
    if written.is_empty() {
        return Ok(());
    }
    let Some(letters) = tx.get(&LETTER_KEYS, (key,)).await? else { return Ok(()) };
    let order = up_to.unwrap_or(letters.last);
    for (one, known) in written.iter().zip(newer(tx, key, written).await?) {
        if known < order {
            tx.put(&NEWER, (key, one.snippet, one.language), &order)?;
        }
    }
    Ok(())
}

/// For each document, up to which letter of the key it is newer; 0: it is newer than none.
pub(crate) async fn newer(tx: &Tx, key: &str, documents: &[Written<'_>]) -> store::Result<Vec<i64>> {
    let rows = documents.iter().map(|one| (key, one.snippet, one.language));
    Ok(tx.get_many(&NEWER, rows).await?.into_iter().map(Option::unwrap_or_default).collect())
}

/// The documents that a letter is about, as far as the configuration knows its section, and its language is one.
pub(crate) fn meant(config: &Config, section: &str, language: &str) -> Vec<DocumentRef> {
    let target = config.target(section).filter(|_| language.is_empty() || is_language(language));
    target.and_then(|target| documents(target, language).ok()).unwrap_or_default()
}

/// Whether everything that a letter would write has been written anew since; `newer` is of all its documents.
pub(crate) fn is_superseded(row: &LetterRow, newer: &[i64]) -> bool {
    !newer.is_empty() && newer.iter().all(|newer| *newer >= row.order)
}

/// Keeps a message that failed: to be tried again at `not_before`, or dead.
pub(crate) async fn keep(
    tx: &mut Tx,
    id: &LetterId,
    mut row: LetterRow,
    body: &BodyRow,
) -> store::Result<()> {
    // A group that was set back brings its messages again.
    if let Some(before) = tx.get(&LETTERS, id.row()).await? {
        remove(tx, id, &before).await?;
    }
    let mut letters = tx.get(&LETTER_KEYS, (id.key.as_str(),)).await?.unwrap_or_default();
    letters.letters += 1;
    letters.last += 1;
    row.order = letters.last;
    tx.put(&LETTER_KEYS, (id.key.as_str(),), &letters)?;
    if let Some(at) = row.not_before {
        tx.put(&RETRIES, id.due(at), &())?;
        tx.wake(crate::retry::CHANNEL);
    }
    tx.put(&LETTERS, id.row(), &row)?;
    tx.put(&LETTER_BODIES, id.row(), body)
}

/// Removes a letter and all that hangs on it; with the last one of a key, what was noted for them.
pub(crate) async fn remove(tx: &mut Tx, id: &LetterId, row: &LetterRow) -> store::Result<()> {
    if let Some(at) = row.not_before {
        tx.delete(&RETRIES, id.due(at))?;
    }
    tx.delete(&LETTERS, id.row())?;
    tx.delete(&LETTER_BODIES, id.row())?;
    let key = (id.key.as_str(),);
    let mut letters = tx.get(&LETTER_KEYS, key).await?.unwrap_or_default();
    letters.letters -= 1;
    if letters.letters > 0 {
        return tx.put(&LETTER_KEYS, key, &letters);
    }
    tx.delete(&LETTER_KEYS, key)?;
    for (document, _) in tx.scan(&NEWER, Range::prefix(key, usize::MAX)?).await? {
        tx.delete(&NEWER, document)?;
    }
    Ok(())
}

/// At most `limit` letters behind `after`, in an order that stays.
pub(crate) async fn list(
    store: &Store,
    config: &Config,
    after: Option<&LetterId>,
    limit: usize,
) -> Result<Vec<Letter>> {
    let cursor = after.map(|id| Ok::<_, store::Error>((id.shard(), Range::all(limit).after(id.row())?)));
    let page = Range::all(limit);
    let rows = store.scan_after(&LETTERS, &page, cursor.transpose()?, limit, |key, row| {
        let id = LetterId::from(key);
        let meant = meant(config, &id.section, &row.language);
        Some((id.shard(), id, row, meant))
    });
    let rows = rows.await?;
    let documents = rows.iter().flat_map(|(shard, id, _, meant)| {
        meant.iter().map(|one| (*shard, (id.key.as_str(), &one.snippet.name, &one.language)))
    });
    let mut newer = store.get_many(&NEWER, documents).await?.into_iter().map(Option::unwrap_or_default);
    let letters = rows.iter().map(|(_, id, row, meant)| {
        let newer: Vec<_> = newer.by_ref().take(meant.len()).collect();
        letter(id.clone(), row, is_superseded(row, &newer))
    });
    Ok(letters.collect())
}

/// Throws a letter away; `false` when there is none.
pub(crate) async fn discard(store: &Store, id: &LetterId) -> Result<bool> {
    store
        .transact(id.shard(), async |tx| {
            let Some(row) = tx.get(&LETTERS, id.row()).await? else { return Ok(false) };
            remove(tx, id, &row).await?;
            Ok(true)
        })
        .await
}

fn letter(id: LetterId, row: &LetterRow, superseded: bool) -> Letter {
    Letter {
        id,
        reason: row.reason.clone(),
        failed_at: Timestamp(row.failed_at),
        attempts: row.attempts,
        not_before: row.not_before.map(Timestamp),
        superseded,
        size: row.size,
    }
}
