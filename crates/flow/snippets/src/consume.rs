//! From topics: one consumer for each topic that a section reads, in group [`GROUP`].
//!
//! A message that cannot be stored does not stop its partition: it goes to the lane of retries, or to the dead letters,
//! in the transaction that moves the group on. Only a failure of the store stops it, or one of this process that is not
//! the message's fault.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kit::Timestamp;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};

use crate::address::{check_key, is_language};
use crate::config::{Config, Feed, Target, TopicInput};
use crate::content::Content;
use crate::letters::{self, LetterId};
use crate::prepare::{Change, documents, prepare};
use crate::put::{Origin, write_documents};
use crate::snippets::Snippets;
use crate::tables::{BodyRow, LetterRow};
use crate::{Error, metrics};

/// The group under which topics are read.
pub const GROUP: &str = "snippets";
/// The header that names a message's language, as in HTTP.
const LANGUAGE_HEADER: &str = "content-language";

/// Most messages of one poll. They are small and spread over all shards: so many fill the shards' transactions with
/// several each, and all of these share a few commits.
const MOST_RECORDS: usize = 8_192;

/// Stores the messages of one topic.
pub(crate) struct Uploader {
    pub(crate) snippets: Snippets,
    pub(crate) topic: String,
}

impl Uploader {
    fn feed<'c>(&self, config: &'c Config) -> Option<&'c Feed> {
        config.feeds.iter().find(|feed| feed.topic == self.topic)
    }
}

#[async_trait]
impl Handler for Uploader {
    fn shard_of(&self, record: &Record) -> Result<Shard, Undecodable> {
        let config = self.snippets.config();
        key_of(self.feed(&config), record).map(|key| Shard::of(&key)).map_err(Undecodable)
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> Result<(), Failure> {
        let config = self.snippets.config();
        let Some(feed) = self.feed(&config) else {
            return Err(Failure::transient(format!("no section reads topic {} any more", self.topic)));
        };
        let mut upload = Upload { uploader: self, letters: letters::any(tx).await? };
        let mut outcomes: BTreeMap<(&str, &'static str), u64> = BTreeMap::new();
        for record in records {
            let key = key_of(Some(feed), record).map_err(Failure::determinate)?;
            for (target, input) in &feed.targets {
                let outcome = upload.message(tx, &key, record, target, input).await?;
                *outcomes.entry((target.section.name.as_str(), outcome)).or_default() += 1;
            }
        }
        for ((section, outcome), messages) in outcomes {
            metrics::from_topic(section, outcome, messages);
        }
        Ok(())
    }

    fn most_records(&self) -> usize {
        MOST_RECORDS
    }
}

fn key_of(feed: Option<&Feed>, record: &Record) -> Result<String, String> {
    let Some((_, input)) = feed.and_then(|feed| feed.targets.first()) else {
        return Err("no section reads this topic".to_owned());
    };
    let key = input.key.extract(record)?;
    check_key(&key)?;
    Ok(key)
}

/// The messages of one transaction.
struct Upload<'a> {
    uploader: &'a Uploader,
    /// Whether the shard has letters that must hear of what is written.
    letters: bool,
}

impl Upload<'_> {
    /// Stores a message for a section, or keeps it as a letter; says what became of it.
    async fn message(
        &mut self,
        tx: &mut Tx,
        key: &str,
        record: &Record,
        target: &Target,
        input: &TopicInput,
    ) -> Result<&'static str, Failure> {
        let now = self.uploader.snippets.clock().now();
        match understood(target, input, record) {
            Ok((changes, version)) => {
                let origin = Origin::Message { version };
                let written = write_documents(tx, key, &changes, origin, now).await?;
                if self.letters {
                    letters::note_newer(tx, key, &written, None).await?;
                }
                Ok(if written.is_empty() { "late" } else { "stored" })
            }
            Err(error @ Error::Unavailable(_)) => Err(Failure::transient(error)),
            Err(error) => {
                let row = self.uploader.failed(record, input, error.to_string(), now);
                self.keep(tx, key, record, target, input, row).await
            }
        }
    }

    async fn keep(
        &mut self,
        tx: &mut Tx,
        key: &str,
        record: &Record,
        target: &Target,
        input: &TopicInput,
        row: LetterRow,
    ) -> Result<&'static str, Failure> {
        let section = target.section.name.clone();
        let outcome = if row.not_before.is_some() { "to_be_retried" } else { "dead_letter" };
        tracing::warn!(section, key, reason = row.reason, outcome, "a message was not stored");
        let id = LetterId {
            key: key.to_owned(),
            topic: self.uploader.topic.clone(),
            partition: record.partition,
            offset: record.offset,
            section,
        };
        let body = BodyRow { format: input.format.name().to_owned(), record: record.clone().into() };
        letters::keep(tx, &id, row, &body).await?;
        self.letters = true;
        Ok(outcome)
    }
}

impl Uploader {
    fn failed(&self, record: &Record, input: &TopicInput, reason: String, now: Timestamp) -> LetterRow {
        let pause = self.snippets.options().retry_pause;
        LetterRow {
            reason,
            failed_at: now.0,
            attempts: 1,
            not_before: (input.retries > 0).then(|| now.plus(pause).0),
            language: language_header(record),
            size: record.size() as u64,
            ..LetterRow::default()
        }
    }
}

/// What a message means for a section, the first time and whenever it is tried again: what becomes of which documents, and
/// the version that its source gave it.
pub(crate) fn understood(
    target: &Target,
    input: &TopicInput,
    record: &Record,
) -> Result<(Vec<Change>, Option<i64>), Error> {
    let language = language_header(record);
    if !language.is_empty() && !is_language(&language) {
        return Err(Error::BadRequest(format!("{language:?} is not a language such as ru or pt-BR")));
    }
    let version = version_of(input, record).map_err(Error::BadRequest)?;
    let changes = if record.payload.is_empty() {
        documents(target, &language)?.into_iter().map(Change::delete).collect()
    } else {
        prepare(target, &Content::new(record.payload.clone(), input.format), &language)?
    };
    Ok((changes, version))
}

/// The language as the message says it; empty when it says none.
fn language_header(record: &Record) -> String {
    record
        .header(LANGUAGE_HEADER)
        .map(|value| String::from_utf8_lossy(value).into_owned())
        .unwrap_or_default()
}

/// An empty message, which deletes, may have no version to be found in it.
fn version_of(input: &TopicInput, record: &Record) -> Result<Option<i64>, String> {
    let Some(extractor) = &input.version else { return Ok(None) };
    match extractor.extract(record) {
        Ok(text) => text.parse().map(Some).map_err(|_| format!("the version {text:?} is not a whole number")),
        Err(_) if record.payload.is_empty() => Ok(None),
        Err(reason) => Err(reason),
    }
}
