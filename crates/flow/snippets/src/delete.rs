//! What a DELETE means.

use store::{Range, Read as _, Tx};

use crate::config::Target;
use crate::error::Result;
use crate::prepare::{Change, DocumentRef, works};
use crate::tables::DOCUMENTS;

/// More languages than a document can have.
pub(crate) const MAX_LANGUAGES: usize = 1_000;

/// Which documents of a key go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Languages<'a> {
    /// The one without a language.
    None,
    One(&'a str),
    /// Whatever is there.
    All,
}

/// The documents that go. A snippet that has its own languages loses all that are there, even those that the configuration
/// has no longer: like a write, it ignores the language of the request.
pub(crate) async fn changes(
    tx: &Tx,
    target: &Target,
    key: &str,
    language: Languages<'_>,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (snippet, work) in works(target)? {
        let languages = match language {
            _ if !work.languages.is_empty() || language == Languages::All => {
                let range = Range::prefix((work.service.as_str(), snippet.number, key), MAX_LANGUAGES)?;
                let rows = tx.scan(&DOCUMENTS, range).await?;
                let there = rows.into_iter().map(|((_, _, _, language), _)| language);
                let mut languages: Vec<_> = there.chain(work.languages.iter().cloned()).collect();
                languages.sort_unstable();
                languages.dedup();
                languages
            }
            Languages::One(language) => vec![language.to_owned()],
            Languages::None | Languages::All => vec![String::new()],
        };
        let each = |language| DocumentRef { snippet: snippet.clone(), work: work.clone(), language };
        changes.extend(languages.into_iter().map(each).map(Change::delete));
    }
    Ok(changes)
}
