//! What serving needs: many keys and many names in one call.

use kit::Timestamp;
use store::Store;

use crate::address::{check_key, is_language};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::get::read;
use crate::prepare::{DocumentRef, works};
use crate::tables::DocumentRow;

/// Most documents that one call asks for.
const MAX_DOCUMENTS: usize = 10_000;
/// Most bytes of the documents that one call finds. What is read at once when they are reached comes on top.
const MAX_BYTES: usize = 64 << 20;
/// Documents read at once as long as nobody knows how large they are, or those of one key, if they are more…
const AT_FIRST: usize = 64;
/// …and small ones.
const AT_ONCE: usize = 512;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) names: Vec<String>,
    pub(crate) keys: Vec<String>,
    /// None: documents without a language, as an empty text in the list.
    #[serde(default)]
    pub(crate) langs: Vec<String>,
}

pub(crate) struct LookupResult {
    /// Names that mean no snippet here: a caller may know of one that this process has not read of yet.
    pub(crate) unknown: Vec<String>,
    pub(crate) wanted: Vec<DocumentRef>,
    pub(crate) keys: Vec<String>,
    /// For each key what was found of the documents wanted, in their order.
    pub(crate) rows: Vec<Option<DocumentRow>>,
}

pub(crate) async fn lookup(
    store: &Store,
    config: &Config,
    question: Question,
    now: Timestamp,
) -> Result<LookupResult> {
    let bad = |message: String| Error::BadRequest(message);
    let langs = if question.langs.is_empty() { vec![String::new()] } else { question.langs };
    if let Some(lang) = langs.iter().find(|lang| !lang.is_empty() && !is_language(lang)) {
        return Err(bad(format!("{lang:?} is not a language such as ru or pt-BR")));
    }
    let is_known = |name: &String| config.target(name).is_some_and(|target| !target.snippets.is_empty());
    let (names, unknown): (Vec<_>, Vec<_>) = question.names.into_iter().partition(is_known);
    let wanted = wanted(config, &names, &langs, question.keys.len())?;
    for key in &question.keys {
        check_key(key).map_err(bad)?;
    }
    let rows = read_all(store, &wanted, &question.keys, now).await?;
    Ok(LookupResult { unknown, wanted, keys: question.keys, rows })
}

async fn read_all(
    store: &Store,
    wanted: &[DocumentRef],
    keys: &[String],
    now: Timestamp,
) -> Result<Vec<Option<DocumentRow>>> {
    let (mut found, mut bytes, mut largest) = (Vec::new(), 0, MAX_BYTES);
    let mut rest = keys;
    while !rest.is_empty() {
        let at_once = (MAX_BYTES / largest).clamp(AT_FIRST, AT_ONCE) / wanted.len().max(1);
        let (keys, later) = rest.split_at(at_once.clamp(1, rest.len()));
        rest = later;
        let rows = read(store, keys, wanted, now).await?;
        let sizes = rows.iter().flatten().map(|row| row.content.len());
        bytes += sizes.clone().sum::<usize>();
        largest = sizes.max().unwrap_or_default().max(1);
        if bytes > MAX_BYTES {
            let most = MAX_BYTES >> 20;
            return Err(Error::TooLarge(format!(
                "the documents found have more than {most} MiB together: ask for fewer of them in one call"
            )));
        }
        found.extend(rows);
    }
    Ok(found)
}

/// The documents that are wanted of each key. Counted before they are listed: a short question can mean very many.
fn wanted(config: &Config, names: &[String], langs: &[String], keys: usize) -> Result<Vec<DocumentRef>> {
    let bad = |message: String| Error::BadRequest(message);
    let mut wanted = Vec::new();
    for name in names {
        let target =
            config.target(name).ok_or_else(|| bad(format!("no snippet is configured under {name:?}")))?;
        let works = works(target)?;
        let each = works.len().saturating_mul(langs.len()).saturating_add(wanted.len());
        if each.saturating_mul(keys.max(1)) > MAX_DOCUMENTS {
            return Err(bad(format!("more than {MAX_DOCUMENTS} documents are asked for in one call")));
        }
        for (snippet, work) in works {
            let meant = |language: &String| DocumentRef {
                snippet: snippet.clone(),
                work: work.clone(),
                language: language.clone(),
            };
            wanted.extend(langs.iter().map(meant));
        }
    }
    Ok(wanted)
}
