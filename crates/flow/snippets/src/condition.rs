//! `If-Match` and `If-None-Match` of a write: compare and swap. Looked at in the transaction that writes, so nobody comes
//! in between.

use std::collections::BTreeSet;

use kit::Timestamp;
use store::{Range, Read as _, Tx};

use crate::config::Target;
use crate::delete::{Languages, MAX_LANGUAGES};
use crate::error::{Error, Result};
use crate::prepare::{languages, works};
use crate::representation::{json, tag};
use crate::tables::{DOCUMENTS, DocumentRow};

/// What a writer knows of the documents that it changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Condition {
    pub(crate) if_match: Option<Tags>,
    pub(crate) if_none_match: Option<Tags>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tags {
    /// `*`: that there is something.
    Any,
    These(Vec<String>),
}

impl Tags {
    /// Reads the values of a header; weak tags are kept as they are, with their `W/`.
    pub(crate) fn read<'v>(values: impl Iterator<Item = &'v str>) -> Option<Self> {
        let tags: Vec<_> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
        match tags[..] {
            [] => None,
            ["*"] => Some(Self::Any),
            _ => Some(Self::These(tags.into_iter().map(str::to_owned).collect())),
        }
    }

    /// Whether one of them is there. Weak tags count only where `weak` says so.
    fn hold(&self, current: &BTreeSet<String>, weak: Weak) -> bool {
        match self {
            Self::Any => !current.is_empty(),
            Self::These(tags) => tags.iter().any(|tag| match (tag.strip_prefix("W/"), weak) {
                (Some(_), Weak::Never) => false,
                (Some(tag), Weak::Too) => current.contains(tag),
                (None, _) => current.contains(tag),
            }),
        }
    }
}

#[derive(Clone, Copy)]
enum Weak {
    Never,
    Too,
}

impl Condition {
    /// Refuses a write that is about other documents than those that are there.
    pub(crate) async fn check(
        &self,
        tx: &Tx,
        target: &Target,
        key: &str,
        language: Languages<'_>,
        now: Timestamp,
    ) -> Result<()> {
        if self.if_match.is_none() && self.if_none_match.is_none() {
            return Ok(());
        }
        let current = current_tags(tx, target, key, language, now).await?;
        let name = &target.section.name;
        if self.if_match.as_ref().is_some_and(|tags| !tags.hold(&current, Weak::Never)) {
            let state = if current.is_empty() { "is not there" } else { "has changed since" };
            return Err(Error::Precondition(format!("{name} of {key:?} {state}: If-Match does not hold")));
        }
        if self.if_none_match.as_ref().is_some_and(|tags| tags.hold(&current, Weak::Too)) {
            return Err(Error::Precondition(format!(
                "{name} of {key:?} is there: If-None-Match does not hold"
            )));
        }
        Ok(())
    }
}

/// The tags of all that a GET of the same name and key gives, in each of the languages that the write is about.
async fn current_tags(
    tx: &Tx,
    target: &Target,
    key: &str,
    language: Languages<'_>,
    now: Timestamp,
) -> Result<BTreeSet<String>> {
    let works = works(target)?;
    let mut found: Vec<(&str, String, DocumentRow)> = Vec::new();
    for (snippet, work) in &works {
        let range = Range::prefix((work.service.as_str(), snippet.number, key), MAX_LANGUAGES)?;
        let wanted = match language {
            Languages::All => None,
            Languages::One(language) => Some(languages(work, language)),
            Languages::None => Some(languages(work, "")),
        };
        for ((.., language), row) in tx.scan(&DOCUMENTS, range).await? {
            let is_wanted = wanted.as_ref().is_none_or(|wanted| wanted.contains(&language.as_str()));
            if is_wanted && row.is_alive(now) {
                found.push((&snippet.name, language, row));
            }
        }
    }
    let spoken: BTreeSet<&str> = found.iter().map(|(_, language, _)| language.as_str()).collect();
    let mut tags = BTreeSet::new();
    for language in spoken {
        let documents = || found.iter().filter(|(_, other, _)| other == language);
        tags.insert(tag(&json(documents().map(|(name, _, row)| (*name, row.format(), &row.content[..])))));
        if let ([_], Some((_, _, row))) = (&works[..], documents().next()) {
            tags.insert(tag(&row.content));
        }
    }
    Ok(tags)
}
