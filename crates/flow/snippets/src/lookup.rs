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

/// What was found: for each key the documents wanted, in their order.
pub(crate) struct Found {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) keys: Vec<(String, Vec<Option<DocumentRow>>)>,
}

pub(crate) async fn lookup(
    store: &Store,
    config: &Config,
    question: Question,
    now: Timestamp,
) -> Result<Found> {
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
    let of_each = &wanted;
    let reads = question.keys.into_iter().map(|key| async move {
        let rows = read(store, &key, of_each, now).await?;
        Ok::<_, Error>((key, rows))
    });
    let keys = stream::iter(reads).buffered(KEYS_AT_ONCE).try_collect().await?;
    Ok(Found { wanted, keys })
}
