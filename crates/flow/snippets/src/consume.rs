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
use crate::put::{Origin, fence, row_key, write_documents};
use crate::snippets::Snippets;
use crate::tables::{BodyRow, DOCUMENTS, LETTER_KEYS, LETTERS, LetterRow, NEWER};
use crate::{Error, Format, metrics};

#[cfg(test)]
mod trips;

/// The group under which topics are read.
pub const GROUP: &str = "snippets";
/// The header that names a message's language, as in HTTP.
const LANGUAGE_HEADER: &str = "content-language";

/// Most messages of one poll. They are small and spread over all shards: a large poll gives each shard's transaction
/// several, and all of these share a few commits.
const MAX_RECORDS: usize = 8_192;

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

/// A message as its sections understand it.
pub(crate) struct Upload {
    key: String,
    /// Kept only where some section cannot store it.
    record: Option<Record>,
    sections: Vec<ForSection>,
}

/// What a message means for one section, or why it means nothing.
struct ForSection {
    section: String,
    format: Format,
    retries: u32,
    understood: Result<(Vec<Change>, Option<i64>), Error>,
}

#[async_trait]
impl Handler for Uploader {
    type Message = Upload;

    /// Validators and convertors run here, outside of any transaction.
    fn decode(&self, record: &Record) -> Result<(Shard, Upload), Undecodable> {
        let config = self.snippets.config();
        let feed = self.feed(&config);
        let key = key_of(feed, record).map_err(Undecodable)?;
        let targets = feed.map_or(&[][..], |feed| &feed.targets);
        let sections: Vec<_> = targets
            .iter()
            .map(|(target, input)| ForSection {
                section: target.section.name.clone(),
                format: input.format,
                retries: input.retries,
                understood: understood(target, input, record),
            })
            .collect();
        let all_stored = sections.iter().all(|section| section.understood.is_ok());
        let record = (!all_stored).then(|| record.clone());
        Ok((Shard::of(&key), Upload { key, record, sections }))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Upload>) -> Result<(), Failure> {
        let mut letters = letters::any(tx).await?;
        prefetch(tx, &messages, letters).await?;
        self.prefetch_letters(tx, &messages).await?;
        let mut outcomes: BTreeMap<(String, &'static str), u64> = BTreeMap::new();
        for Upload { key, record, sections } in messages {
            for part in sections {
                let outcome = match part.understood {
                    Ok((changes, version)) => self.store(tx, &key, &changes, version, letters).await?,
                    Err(error @ Error::Unavailable(_)) => return Err(Failure::transient(error)),
                    Err(error) => {
                        let Some(record) = &record else { continue };
                        letters = true;
                        self.keep(tx, &key, record, &part.section, (part.format, part.retries), &error)
                            .await?
                    }
                };
                *outcomes.entry((part.section, outcome)).or_default() += 1;
            }
        }
        for ((section, outcome), messages) in outcomes {
            metrics::from_topic(&section, outcome, messages);
        }
        Ok(())
    }

    fn max_records(&self) -> usize {
        MAX_RECORDS
    }
}

/// Reads ahead the documents of all messages and, where the shard has dead letters, what is noted for them.
async fn prefetch(tx: &mut Tx, messages: &[Upload], letters: bool) -> store::Result<()> {
    let changes = || {
        messages.iter().flat_map(|message| {
            let understood = message.sections.iter().filter_map(|part| part.understood.as_ref().ok());
            understood.flat_map(|(changes, _)| changes).map(|change| (message.key.as_str(), change))
        })
    };
    let mut fences: Vec<_> = changes().map(|(_, change)| fence(change)).collect();
    fences.sort_unstable();
    fences.dedup();
    let rows = changes().map(|(key, change)| row_key(change, key)).chain(fences);
    tx.prefetch(&DOCUMENTS, rows).await?;
    if letters {
        tx.prefetch(&LETTER_KEYS, messages.iter().map(|message| (message.key.as_str(),))).await?;
        let newer = changes().map(|(key, change)| (key, &*change.snippet.name, &*change.language));
        tx.prefetch(&NEWER, newer).await?;
    }
    Ok(())
}

fn key_of(feed: Option<&Feed>, record: &Record) -> Result<String, String> {
    let Some((_, input)) = feed.and_then(|feed| feed.targets.first()) else {
        return Err("no section reads this topic".to_owned());
    };
    let key = input.key.extract(record)?;
    check_key(&key)?;
    Ok(key)
}

impl Uploader {
    /// Reads ahead what is kept already of the messages that cannot be stored.
    async fn prefetch_letters(&self, tx: &mut Tx, messages: &[Upload]) -> store::Result<()> {
        let mut letters = Vec::new();
        for Upload { key, record, sections } in messages {
            let Some(record) = record else { continue };
            let failed = sections.iter().filter(|part| part.understood.is_err());
            letters.extend(failed.map(|part| self.letter(key, record, &part.section)));
        }
        if letters.is_empty() {
            return Ok(());
        }
        tx.prefetch(&LETTERS, letters.iter().map(LetterId::row)).await?;
        tx.prefetch(&LETTER_KEYS, letters.iter().map(|id| (id.key.as_str(),))).await
    }

    fn letter(&self, key: &str, record: &Record, section: &str) -> LetterId {
        LetterId {
            key: key.to_owned(),
            topic: self.topic.clone(),
            partition: record.partition,
            offset: record.offset,
            section: section.to_owned(),
        }
    }

    async fn store(
        &self,
        tx: &mut Tx,
        key: &str,
        changes: &[Change],
        version: Option<i64>,
        letters: bool,
    ) -> Result<&'static str, Failure> {
        let now = self.snippets.clock().now();
        let written = write_documents(tx, key, changes, Origin::Message { version }, now).await?;
        if letters {
            letters::note_newer(tx, key, &written, None).await?;
        }
        Ok(if written.is_empty() { "late" } else { "stored" })
    }

    /// Keeps a message that a section cannot store: to be tried again, or dead.
    async fn keep(
        &self,
        tx: &mut Tx,
        key: &str,
        record: &Record,
        section: &str,
        (format, retries): (Format, u32),
        error: &Error,
    ) -> Result<&'static str, Failure> {
        let row = self.failed(record, retries, error.to_string(), self.snippets.clock().now());
        let outcome = if row.not_before.is_some() { "to_be_retried" } else { "dead_letter" };
        tracing::warn!(section, key, reason = row.reason, outcome, "a message was not stored");
        let id = self.letter(key, record, section);
        let body = BodyRow { format: format.name().to_owned(), record: record.clone().into() };
        letters::keep(tx, &id, row, &body).await?;
        Ok(outcome)
    }

    fn failed(&self, record: &Record, retries: u32, reason: String, now: Timestamp) -> LetterRow {
        let pause = self.snippets.settings().retry_pause;
        LetterRow {
            reason,
            failed_at: now.0,
            attempts: 1,
            not_before: (retries > 0).then(|| now.plus(pause).0),
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
