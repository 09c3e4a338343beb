//! The lane of retries, apart from the consumers: what failed is tried again after a pause, a few times.

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head};
use kit::Timestamp;
use store::{Read as _, Shard};

use crate::config::{Config, Target, TopicInput};
use crate::consume::understood;
use crate::error::{Error, Result};
use crate::letters::{self, LetterId, meant};
use crate::put::{Origin, Written, write};
use crate::snippets::{ROLE, Snippets};
use crate::tables::{BodyRow, LETTER_BODIES, LETTERS, LetterRow, RETRIES, RetryKey};
use crate::{Format, metrics};

pub(crate) const CHANNEL: &str = "snippets_retries";
/// Messages tried side by side.
const AT_ONCE: usize = 4;

/// Messages whose next try is due.
pub(crate) struct Retries(pub(crate) Snippets);

#[async_trait]
impl Work for Retries {
    type Key = LetterId;
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("snippets retries", ROLE, CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], now: Timestamp) -> Result<Due<LetterId>> {
        let entry = |(at, key, topic, partition, offset, section): RetryKey, ()| Entry {
            at,
            owner: key.clone(),
            key: LetterId { key, topic, partition, offset, section },
            long: false,
        };
        Ok(head(self.0.store(), &RETRIES, shards, now, entry).await?)
    }

    async fn run(&self, _: Shard, id: &LetterId) -> Result<Done> {
        match attempt(&self.0, id).await {
            Ok(()) | Err(Error::Invalid { .. } | Error::NotFound(_) | Error::Superseded(_)) => {
                Ok(Done::Finished)
            }
            // A store that is away is away for the others too, and so is what a convertor lacks.
            Err(error) => Err(error),
        }
    }
}

/// Tries a letter now. What fails again waits for its next turn, or is a dead letter from now on.
pub(crate) async fn attempt(snippets: &Snippets, id: &LetterId) -> Result<()> {
    let snapshot = snippets.store().snapshot(id.shard()).await?;
    let missing = || Error::NotFound("there is no such letter".to_owned());
    let (Some(row), Some(body)) =
        (snapshot.get(&LETTERS, id.row()).await?, snapshot.get(&LETTER_BODIES, id.row()).await?)
    else {
        return Err(missing());
    };
    drop(snapshot);
    let config = snippets.config();
    let reader = reader(&config, id, &body);
    // The same whatever the content: what has been written anew since is not written again, be it right or wrong.
    let documents = meant(&config, &id.section, &row.language);
    let understood = match reader {
        Some((target, input)) => understood(target, input, &body.record.at(id.partition, id.offset)),
        None => Err(Error::BadRequest(format!("section {} does not read this topic any more", id.section))),
    };
    // Not the letter's fault: it was no attempt.
    if let Err(error @ Error::Unavailable(_)) = understood {
        return Err(error);
    }
    let retries = reader.map_or(0, |(_, input)| input.retries);
    let now = snippets.clock().now();
    let outcome = snippets
        .store()
        .transact(id.shard(), async |tx| {
            let Some(row) = tx.get(&LETTERS, id.row()).await? else { return Err(missing()) };
            let written: Vec<_> = documents.iter().map(Written::from).collect();
            if letters::is_superseded(&row, &letters::newer(tx, &id.key, &written).await?) {
                return supersede(tx, id, &row).await.map(Err);
            }
            let (changes, version) = match &understood {
                Ok(understood) => understood,
                Err(error) => return fail(tx, snippets, id, row, retries, error, now).map(Err),
            };
            let written: Vec<_> = changes.iter().map(Written::from).collect();
            let newer = letters::newer(tx, &id.key, &written).await?;
            let left = changes.iter().zip(newer).filter(|(_, newer)| *newer < row.order);
            let left: Vec<_> = left.map(|(change, _)| change.clone()).collect();
            let origin = Origin::Retry { version: *version, order: row.order };
            write(tx, &id.key, &left, origin, now).await?;
            letters::remove(tx, id, &row).await?;
            Ok(Ok(()))
        })
        .await?;
    metrics::retried(&id.section, outcome.is_ok());
    outcome
}

/// The section that the letter is for, if it still reads such messages from that topic.
fn reader<'c>(config: &'c Config, id: &LetterId, body: &BodyRow) -> Option<(&'c Target, &'c TopicInput)> {
    let target = config.target(&id.section)?;
    let input = target.section.input.as_deref()?;
    (input.topic == id.topic && Format::by_name(&body.format) == Some(input.format))
        .then_some((target, input))
}

/// A letter in the lane goes; a dead one stays to be seen, until somebody drops it.
async fn supersede(tx: &mut store::Tx, id: &LetterId, row: &LetterRow) -> Result<Error> {
    if row.not_before.is_some() {
        letters::remove(tx, id, row).await?;
    }
    metrics::superseded(&id.section);
    Ok(Error::Superseded(format!("everything that it would write under {:?} is newer already", id.key)))
}

fn fail(
    tx: &mut store::Tx,
    snippets: &Snippets,
    id: &LetterId,
    row: LetterRow,
    retries: u32,
    error: &Error,
    now: Timestamp,
) -> Result<Error> {
    if let Some(at) = row.not_before {
        tx.delete(&RETRIES, id.due(at))?;
    }
    // The first attempt was the consumer's own; a dead letter that was tried by hand stays dead.
    let again = row.not_before.is_some() && row.attempts < retries;
    let not_before = again.then(|| now.plus(snippets.settings().retry_pause).0);
    if let Some(at) = not_before {
        tx.put(&RETRIES, id.due(at), &())?;
    } else if row.not_before.is_some() {
        tracing::warn!(section = id.section, key = id.key, %error, "a message became a dead letter");
        metrics::from_topic(&id.section, "dead_letter", 1);
    }
    let attempts = row.attempts + 1;
    let row = LetterRow { reason: error.to_string(), failed_at: now.0, attempts, not_before, ..row };
    tx.put(&LETTERS, id.row(), &row)?;
    Ok(match error {
        Error::Invalid { snippet, invalid } => {
            Error::Invalid { snippet: snippet.clone(), invalid: invalid.clone() }
        }
        error => {
            Error::Invalid { snippet: id.section.clone(), invalid: crate::Invalid::new(error.to_string()) }
        }
    })
}
