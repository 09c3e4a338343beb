//! What a DELETE means.

use store::{Range, Read as _, Tx};

use crate::config::Target;
use crate::error::Result;
use crate::prepare::{Change, Meant, works};
use crate::tables::DOCUMENTS;

/// More languages than a document can have.
const MOST_LANGUAGES: usize = 1_000;

/// The documents that go. Without a language a snippet that has its own languages loses all that are there, even those
/// that the configuration has no longer.
pub(crate) async fn changes(
    tx: &Tx,
    target: &Target,
    key: &str,
    language: Option<&str>,
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (snippet, work) in works(target)? {
        let languages = match language {
            None if !work.languages.is_empty() => {
                let range = Range::prefix((work.service.as_str(), snippet.number, key), MOST_LANGUAGES)?;
                let rows = tx.scan(&DOCUMENTS, range).await?;
                let there = rows.into_iter().map(|((_, _, _, language), _)| language);
                let mut languages: Vec<_> = there.chain(work.languages.iter().cloned()).collect();
                languages.sort_unstable();
                languages.dedup();
                languages
            }
            language => vec![language.unwrap_or_default().to_owned()],
        };
        let each = |language| Meant { snippet: snippet.clone(), work: work.clone(), language };
        changes.extend(languages.into_iter().map(each).map(Change::delete));
    }
    Ok(changes)
}
