//! What serving needs: many keys and many names in one call.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kit::Timestamp;
use store::Store;

use crate::address::{check_key, is_language};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::get::{Wanted, read};
use crate::prepare::works;
use crate::tables::DocumentRow;

/// Most documents that one call asks for.
const MOST_DOCUMENTS: usize = 10_000;
/// Keys read side by side.
const KEYS_AT_ONCE: usize = 16;

#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) names: Vec<String>,
    pub(crate) keys: Vec<String>,
    /// None: documents without a language, as an empty text in the list.
    #[serde(default)]
    pub(crate) langs: Vec<String>,
}

/// A document that was found.
pub(crate) struct Found {
    pub(crate) wanted: Wanted,
    pub(crate) key: String,
    pub(crate) row: DocumentRow,
}

pub(crate) async fn lookup(
    store: &Store,
    config: &Config,
    question: Question,
    now: Timestamp,
) -> Result<Vec<Found>> {
    let bad = |message: String| Error::BadRequest(message);
    let langs = if question.langs.is_empty() { vec![String::new()] } else { question.langs };
    if let Some(lang) = langs.iter().find(|lang| !lang.is_empty() && !is_language(lang)) {
        return Err(bad(format!("{lang:?} is not a language such as ru or pt-BR")));
    }
    let mut wanted = Vec::new();
    for name in &question.names {
        let target =
            config.target(name).ok_or_else(|| bad(format!("no snippet is configured under {name:?}")))?;
        for (snippet, work) in works(target)? {
            let each = langs.iter().map(|language| Wanted {
                snippet: snippet.clone(),
                work: work.clone(),
                language: language.clone(),
            });
            wanted.extend(each);
        }
    }
    for key in &question.keys {
        check_key(key).map_err(bad)?;
    }
    let count = wanted.len() * question.keys.len();
    if count > MOST_DOCUMENTS {
        return Err(bad(format!("{count} documents are over the limit of {MOST_DOCUMENTS} for one call")));
    }
    let wanted = &wanted;
    let reads = question.keys.into_iter().map(|key| async move {
        let rows = read(store, &key, wanted, now).await?;
        let found = rows
            .into_iter()
            .zip(wanted)
            .filter_map(|(row, wanted)| Some(Found { wanted: wanted.clone(), key: key.clone(), row: row? }));
        Ok::<_, Error>(found.collect::<Vec<_>>())
    });
    let found: Vec<Vec<Found>> = stream::iter(reads).buffered(KEYS_AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}
