//! What a person can do with snippets in the console: the same writes as over HTTP, and all documents of a key at a
//! glance.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use kit::Timestamp;
use store::{Range, Read as _, Shard, Tx};

use crate::address::{check_key, is_language};
use crate::condition::Condition;
use crate::config::Target;
use crate::content::Content;
use crate::delete::{Languages, MAX_LANGUAGES};
use crate::error::{Error, Result};
use crate::prepare::{Change, prepare, works};
use crate::put::{Origin, write};
use crate::snippets::Snippets;
use crate::tables::{DOCUMENTS, DocumentRow};
use crate::{Format, metrics};

/// A document as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The snippet's absolute name.
    pub name: String,
    /// Empty: none.
    pub language: String,
    pub format: Format,
    /// JSON and text as they are, bytes as base64.
    pub content: String,
    pub expires_at: Option<Timestamp>,
}

impl Snippets {
    /// Checks, converts and stores content under a name and a key; says which snippets that were.
    pub async fn put(
        &self,
        name: &str,
        key: &str,
        format: Format,
        language: Option<&str>,
        bytes: Bytes,
    ) -> Result<Vec<String>> {
        check_key(key).map_err(Error::BadRequest)?;
        if let Some(language) = language.filter(|language| !is_language(language)) {
            return Err(Error::BadRequest(format!("{language:?} is not a language such as ru or pt-BR")));
        }
        let target = self.named(name)?;
        let condition = Condition::default();
        self.put_to(&target, key, &Content::new(bytes, format), language, &condition).await?;
        Ok(target.snippets.iter().map(|snippet| snippet.name.clone()).collect())
    }

    pub(crate) async fn put_to(
        &self,
        target: &Target,
        key: &str,
        content: &Content,
        language: Option<&str>,
        condition: &Condition,
    ) -> Result<Vec<Change>> {
        let changes = prepare(target, content, language.unwrap_or_default());
        let changes = changes.inspect_err(|error| {
            if !matches!(error, Error::Unavailable(_)) {
                metrics::refused(&target.section.name);
            }
        })?;
        let now = self.clock().now();
        let meant = language.map_or(Languages::None, Languages::One);
        let body = async |tx: &mut Tx| {
            condition.check(tx, target, key, meant, now).await?;
            write(tx, key, &changes, Origin::Request, now).await
        };
        self.store().transact(Shard::of(key), body).await?;
        metrics::put(&target.section);
        Ok(changes)
    }

    /// The living documents of a key under a name, in all languages.
    pub async fn documents(&self, name: &str, key: &str) -> Result<Vec<Shown>> {
        check_key(key).map_err(Error::BadRequest)?;
        let target = self.named(name)?;
        let snapshot = self.store().snapshot(Shard::of(key)).await?;
        let now = self.clock().now();
        let mut found = Vec::new();
        for (snippet, work) in works(&target)? {
            let range = Range::prefix((work.service.as_str(), snippet.number, key), MAX_LANGUAGES)?;
            let rows = snapshot.scan(&DOCUMENTS, range).await?;
            let alive = rows.into_iter().filter(|(_, row)| row.is_alive(now));
            found.extend(alive.map(|((.., language), row)| shown(&snippet.name, language, &row)));
        }
        Ok(found)
    }

    fn named(&self, name: &str) -> Result<Target> {
        let none = || Error::BadRequest(format!("no snippet is configured under {name:?}"));
        self.config().target(name).cloned().ok_or_else(none)
    }
}

fn shown(name: &str, language: String, row: &DocumentRow) -> Shown {
    let format = row.format();
    let content = match format {
        Format::Json | Format::Text => String::from_utf8_lossy(&row.content).into_owned(),
        Format::Pb | Format::Binary => BASE64_STANDARD.encode(&row.content),
    };
    Shown { name: name.to_owned(), language, format, content, expires_at: row.expires_at.map(Timestamp) }
}
