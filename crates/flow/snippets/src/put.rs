//! Writing documents: all changes of a key in one transaction.

use std::time::Duration;

use kit::Timestamp;
use store::{Read as _, Tx};

use crate::convertors::Document;
use crate::error::{Error, Result};
use crate::letters;
use crate::prepare::{Change, DocumentRef};
use crate::tables::{DOCUMENTS, DocumentRow, EXPIRIES};

/// How long the tombstone of a deleted document refuses late messages.
const TOMBSTONE_TTL: Duration = Duration::from_secs(24 * 3600);

/// A document of a snippet, in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written<'c> {
    pub(crate) snippet: &'c str,
    pub(crate) language: &'c str,
}

impl<'c> From<&'c Change> for Written<'c> {
    fn from(change: &'c Change) -> Self {
        Self { snippet: &change.snippet.name, language: &change.language }
    }
}

impl<'c> From<&'c DocumentRef> for Written<'c> {
    fn from(meant: &'c DocumentRef) -> Self {
        Self { snippet: &meant.snippet.name, language: &meant.language }
    }
}

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    Request,
    /// A message in its turn, with the version of its source if that has one.
    Message {
        version: Option<i64>,
    },
    /// A message that had failed before; `order` is its place among the letters of its key.
    Retry {
        version: Option<i64>,
        order: i64,
    },
}

impl Origin {
    fn version(self) -> Option<i64> {
        match self {
            Self::Request => None,
            Self::Message { version } | Self::Retry { version, .. } => version,
        }
    }

    fn is_topic(self) -> bool {
        !matches!(self, Self::Request)
    }
}

/// Writes what is not older than what is there, and notes it for the letters of the key.
pub(crate) async fn write(
    tx: &mut Tx,
    key: &str,
    changes: &[Change],
    origin: Origin,
    now: Timestamp,
) -> Result<()> {
    let written = write_documents(tx, key, changes, origin, now).await?;
    // A request is never late, so what it did not write belongs to a snippet that is no more.
    if let Origin::Request = origin
        && let Some(change) = changes.iter().find(|change| !written.contains(&Written::from(*change)))
    {
        return Err(Error::BadRequest(format!(
            "snippet {} was dropped; the configuration of this process still has it",
            change.snippet.name
        )));
    }
    let up_to = match origin {
        Origin::Retry { order, .. } => Some(order),
        Origin::Request | Origin::Message { .. } => None,
    };
    Ok(letters::note_newer(tx, key, &written, up_to).await?)
}

/// Writes what is not older than what is there; says which documents that were. Letters of the key are to be told.
pub(crate) async fn write_documents<'c>(
    tx: &mut Tx,
    key: &str,
    changes: &'c [Change],
    origin: Origin,
    now: Timestamp,
) -> store::Result<Vec<Written<'c>>> {
    let keys: Vec<_> = changes.iter().map(|change| row_key(change, key)).collect();
    let mut fences: Vec<_> = changes.iter().map(fence).collect();
    fences.dedup();
    let mut old_rows = tx.get_many(&DOCUMENTS, keys.iter().chain(&fences)).await?;
    let dropped = old_rows.split_off(keys.len());
    let is_dropped = |change: &Change| {
        fences.iter().zip(&dropped).any(|(other, row)| *other == fence(change) && row.is_some())
    };
    let mut written = Vec::new();
    for ((change, row_key), old) in changes.iter().zip(&keys).zip(old_rows) {
        if is_late(origin, old.as_ref()) || is_dropped(change) {
            continue;
        }
        let new = new_row(change, origin, old.as_ref(), now);
        replace(tx, *row_key, old.as_ref(), new.as_ref())?;
        written.push(change.into());
    }
    Ok(written)
}

/// Puts the new row in the old one's place, in the list of what ends when too.
pub(crate) fn replace(
    tx: &mut Tx,
    key: (&str, u32, &str, &str),
    old: Option<&DocumentRow>,
    new: Option<&DocumentRow>,
) -> store::Result<()> {
    let (service, prefix, text, language) = key;
    let expiry = |at: i64| (Timestamp(at), service, prefix, text, language);
    let ends = |row: Option<&DocumentRow>| row.and_then(|row| row.expires_at);
    if let Some(at) = ends(old).filter(|_| ends(old) != ends(new)) {
        tx.delete(&EXPIRIES, expiry(at))?;
    }
    if let Some(at) = ends(new).filter(|_| ends(old) != ends(new)) {
        tx.put(&EXPIRIES, expiry(at), &())?;
    }
    match (old, new) {
        (_, Some(row)) => tx.put(&DOCUMENTS, key, row),
        (Some(_), None) => tx.delete(&DOCUMENTS, key),
        (None, None) => Ok(()),
    }
}

pub(crate) fn row_key<'c>(change: &'c Change, key: &'c str) -> (&'c str, u32, &'c str, &'c str) {
    (&change.work.service, change.snippet.number, key, &change.language)
}

/// The row that stands in every shard for a snippet that was dropped, so that a process which has not heard of that writes
/// nothing more. No document has an empty key.
pub(crate) fn fence(change: &Change) -> (&str, u32, &str, &str) {
    (&change.work.service, change.snippet.number, "", "")
}

/// Whether something newer is there already. The same version again is the same message again: it may be applied to
/// what it made itself, but not over what a request has done since.
fn is_late(origin: Origin, old: Option<&DocumentRow>) -> bool {
    let (Some(version), Some(old)) = (origin.version(), old) else { return false };
    match old.source_version {
        Some(there) if version == there => old.deleted || !old.by_topic,
        Some(there) => version < there,
        None => false,
    }
}

fn new_row(
    change: &Change,
    origin: Origin,
    old: Option<&DocumentRow>,
    now: Timestamp,
) -> Option<DocumentRow> {
    let source_version = origin.version().or(old.and_then(|old| old.source_version));
    let row = DocumentRow {
        source_version,
        written_at: now.0,
        by_topic: origin.is_topic(),
        format: change.work.output.into(),
        ..DocumentRow::default()
    };
    match &change.document {
        Document::Put(content) => Some(DocumentRow {
            content: content.clone(),
            expires_at: change.work.ttl.map(|ttl| now.plus(ttl).0),
            ..row
        }),
        Document::Delete if origin.is_topic() || source_version.is_some() => {
            Some(DocumentRow { deleted: true, expires_at: Some(now.plus(TOMBSTONE_TTL).0), ..row })
        }
        Document::Delete => None,
    }
}
