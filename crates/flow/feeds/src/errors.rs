//! The exact list of what is wrong with a load's offers.
//!
//! A row per issue, by external id, with an index by level and one by type; all are written and cleared together. The
//! text is rendered when somebody reads it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{Issue, IssueType, Level};
use store::{Range, Read as _, Tx};
use wire::feeds::{OfferError, RecordResult, Statistics};

use crate::report::type_name;
use crate::tables::{OFFER_ERRORS, OFFER_ERRORS_BY_LEVEL, OFFER_ERRORS_BY_TYPE};
use crate::tasks::FeedKey;
use crate::{Error, Feeds, Result};

mod search;

pub use search::Searched;

/// An external id in a key is cut there; a longer one was refused anyway.
const KEY_BYTES: usize = 256;

/// Records the issues of one offer and counts them.
pub(crate) fn add(
    tx: &mut Tx,
    key: &FeedKey,
    task_id: i64,
    statistics: &mut Statistics,
    record: RecordResult,
) -> Result<()> {
    let external_id = key_text(&record.external_id);
    for issue in record.issues {
        match issue.level() {
            Level::Error => statistics.errors += 1,
            Level::Warning | Level::Unspecified => statistics.warnings += 1,
        }
        *statistics.by_type.entry(type_name(issue.r#type()).to_owned()).or_default() += 1;
        statistics.error_rows += 1;
        let place = Place {
            level: issue.level as u32,
            kind: issue.r#type as u32,
            external_id: external_id.clone(),
            error_id: statistics.error_rows,
        };
        let line = if issue.line > 0 { issue.line } else { record.line };
        let row =
            OfferError { issue: Some(issue), offer_id: record.offer_id, title: record.title.clone(), line };
        put(tx, key, task_id, &place, &row)?;
    }
    Ok(())
}

/// Where an error stands in its tables.
struct Place {
    level: u32,
    kind: u32,
    external_id: String,
    error_id: i64,
}

fn put(tx: &mut Tx, key: &FeedKey, task_id: i64, place: &Place, row: &OfferError) -> Result<()> {
    let Place { level, kind, external_id, error_id } = place;
    let (seller, namespace) = key.row();
    tx.put(&OFFER_ERRORS, (seller, namespace, task_id, external_id.as_str(), *error_id), row)?;
    let by_level = (seller, namespace, task_id, *level, external_id.as_str(), *error_id);
    tx.put(&OFFER_ERRORS_BY_LEVEL, by_level, &())?;
    let by_type = (seller, namespace, task_id, type_level(*kind, *level), external_id.as_str(), *error_id);
    tx.put(&OFFER_ERRORS_BY_TYPE, by_type, &())?;
    Ok(())
}

/// Removes some of a load's errors; `true`: there may be more.
pub(crate) async fn clear(tx: &mut Tx, key: &FeedKey, task_id: i64, limit: usize) -> Result<bool> {
    let rows = tx.scan(&OFFER_ERRORS, Range::prefix(key.task(task_id), limit)?).await?;
    let (seller, namespace) = key.row();
    for ((.., external_id, error_id), row) in &rows {
        let issue = row.issue.clone().unwrap_or_default();
        let (level, kind) = (issue.level as u32, issue.r#type as u32);
        let id = external_id.as_str();
        tx.delete(&OFFER_ERRORS, (seller, namespace, task_id, id, *error_id))?;
        tx.delete(&OFFER_ERRORS_BY_LEVEL, (seller, namespace, task_id, level, id, *error_id))?;
        let by_type = (seller, namespace, task_id, type_level(kind, level), id, *error_id);
        tx.delete(&OFFER_ERRORS_BY_TYPE, by_type)?;
    }
    Ok(rows.len() == limit)
}

/// A number beyond those that we know comes from a newer version, and stands at the end.
fn type_level(kind: u32, level: u32) -> u32 {
    kind.saturating_mul(10).saturating_add(level)
}

/// Text that can stand in a key.
fn key_text(text: &str) -> String {
    let mut end = text.len().min(KEY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "")
}

/// Which errors are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub level: Option<Level>,
    pub kind: Option<IssueType>,
    /// What the external id begins with; empty: anything.
    pub id_begins: String,
    /// Words that the title has, in any order and case; empty: anything.
    pub title_has: String,
}

/// Every type that an error can have.
pub const TYPES: [IssueType; 7] = [
    IssueType::Validation,
    IssueType::Category,
    IssueType::Attribute,
    IssueType::Geo,
    IssueType::Ban,
    IssueType::Duplicate,
    IssueType::Photo,
];

impl Filter {
    /// Reads the names of a level and a type.
    pub fn parse(level: Option<&str>, kind: Option<&str>) -> Result<Self> {
        let level = level.map(|text| match text {
            "error" => Ok(Level::Error),
            "warning" => Ok(Level::Warning),
            _ => Err(Error::invalid("level", "not_an_option", format!("{text:?} is not error or warning"))),
        });
        let kind = kind.map(|text| {
            let found = TYPES.into_iter().find(|kind| type_name(*kind) == text);
            found.ok_or_else(|| Error::invalid("type", "not_an_option", format!("there is no type {text:?}")))
        });
        Ok(Self { level: level.transpose()?, kind: kind.transpose()?, ..Self::default() })
    }
}

/// An error where it stands: behind `after` the list goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub at: Cursor,
    pub external_id: String,
    pub error: OfferError,
}

/// (seller, namespace, task, external id, error id).
type ErrorKey = (String, String, i64, String, i64);

/// (level, external id, error id).
pub type Cursor = (u32, String, i64);

/// Opaque to clients.
pub fn write_cursor(at: &Cursor) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(at).unwrap_or_default())
}

pub fn read_cursor(text: &str) -> Result<Cursor> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let cursor = bytes.and_then(|bytes| serde_json::from_slice::<Cursor>(&bytes).ok());
    let cursor = cursor.filter(|(level, id, _)| *level < 10 && key_text(id) == *id);
    cursor.ok_or_else(|| Error::invalid("cursor", "bad_cursor", "this is no cursor of this list"))
}

/// A page of a load's errors. One of a search may be short, or empty, and go on.
pub async fn page(
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    filter: &Filter,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Searched> {
    if filter.is_search() {
        return search::search(feeds, key, task_id, filter, after, limit).await;
    }
    let mut found = list(feeds, key, task_id, filter, after, limit + 1).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| last.at.clone());
    Ok(Searched { found, next })
}

/// The errors of a load of a level and a type, by external id, behind the cursor.
pub async fn list(
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    filter: &Filter,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Found>> {
    let snapshot = feeds.store.snapshot(key.shard()).await?;
    let (seller, namespace) = key.row();
    let places: Vec<Cursor> = match *filter {
        Filter { kind: Some(kind), level, .. } => {
            let (first, last) = match level {
                Some(level) => (type_level(kind as u32, level as u32), type_level(kind as u32, level as u32)),
                None => (type_level(kind as u32, 0), type_level(kind as u32, 9)),
            };
            let mut range = Range::all(limit)
                .from((seller, namespace, task_id, first))?
                .up_to((seller, namespace, task_id, last))?;
            if let Some((level, external_id, error_id)) = after {
                let place = type_level(kind as u32, *level);
                range = range.after((seller, namespace, task_id, place, external_id.as_str(), *error_id))?;
            }
            let rows = snapshot.scan(&OFFER_ERRORS_BY_TYPE, range).await?;
            rows.into_iter().map(|((.., place, id, number), ())| (place % 10, id, number)).collect()
        }
        Filter { kind: None, level: Some(level), .. } => {
            let mut range = Range::prefix((seller, namespace, task_id, level as u32), limit)?;
            if let Some((level, external_id, error_id)) = after {
                range = range.after((seller, namespace, task_id, *level, external_id.as_str(), *error_id))?;
            }
            let rows = snapshot.scan(&OFFER_ERRORS_BY_LEVEL, range).await?;
            rows.into_iter().map(|((.., level, id, number), ())| (level, id, number)).collect()
        }
        Filter { kind: None, level: None, .. } => {
            return all(&snapshot, key, task_id, after, limit).await;
        }
    };
    let keys = places.iter().map(|(_, id, number)| (seller, namespace, task_id, id.as_str(), *number));
    let rows = snapshot.get_many(&OFFER_ERRORS, keys).await?;
    let join =
        |(at, row): (Cursor, Option<OfferError>)| Some(Found { external_id: at.1.clone(), at, error: row? });
    Ok(places.into_iter().zip(rows).filter_map(join).collect())
}

async fn all(
    snapshot: &store::Snapshot,
    key: &FeedKey,
    task_id: i64,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<Vec<Found>> {
    let (seller, namespace) = key.row();
    let mut range = Range::prefix(key.task(task_id), limit)?;
    if let Some((_, external_id, error_id)) = after {
        range = range.after((seller, namespace, task_id, external_id.as_str(), *error_id))?;
    }
    let rows = snapshot.scan(&OFFER_ERRORS, range).await?;
    Ok(rows.into_iter().map(joined).collect())
}

fn joined(((.., external_id, number), error): (ErrorKey, OfferError)) -> Found {
    let level = error.issue.as_ref().map_or(0, |issue: &Issue| issue.level as u32);
    Found { at: (level, external_id.clone(), number), external_id, error }
}
