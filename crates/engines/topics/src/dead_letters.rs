//! Records that could not be applied, kept with the reason.

use kit::Timestamp;
use store::{Read as _, Shard};

use crate::backend::Description;
use crate::outbox::header_rows;
use crate::tables::{DEAD_LETTER_BODIES, DEAD_LETTERS, DeadLetterRow, RecordRow};
use crate::{Record, Result, Topics};

/// Which record it is, for which group.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Id {
    pub group: String,
    pub topic: String,
    pub incarnation: String,
    pub partition: u32,
    pub offset: i64,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct DeadLetter {
    #[serde(flatten)]
    pub id: Id,
    pub reason: String,
    pub failed_at: Timestamp,
    pub attempts: u32,
    pub size: u64,
}

impl Id {
    fn shard(&self) -> Shard {
        Shard::wrapping(u64::from(self.partition))
    }

    fn key(&self) -> (&str, &str, &str, u32, i64) {
        (&self.group, &self.topic, &self.incarnation, self.partition, self.offset)
    }
}

/// Keeps a record; one that is there already stays as it is.
pub(crate) async fn bury(
    topics: &Topics,
    description: &Description,
    group: &str,
    record: &Record,
    reason: &str,
    attempts: u32,
) -> Result<()> {
    let id = Id {
        group: group.to_owned(),
        topic: description.topic.clone(),
        incarnation: description.incarnation.clone(),
        partition: record.partition,
        offset: record.offset,
    };
    let failed_at = topics.options().clock.now().0;
    let row = DeadLetterRow { reason: reason.to_owned(), failed_at, attempts, size: record.size() as u64 };
    let Record { key, payload, headers, timestamp, .. } = record.clone();
    let body = RecordRow { key, payload, headers: header_rows(headers), timestamp: timestamp.0 };
    let new = topics
        .store()
        .transact(id.shard(), async |tx| {
            if tx.get(&DEAD_LETTERS, id.key()).await?.is_some() {
                return Ok(false);
            }
            tx.put(&DEAD_LETTERS, id.key(), &row)?;
            tx.put(&DEAD_LETTER_BODIES, id.key(), &body)?;
            Ok::<_, crate::Error>(true)
        })
        .await?;
    if new {
        let Id { group, topic, partition, offset, .. } = &id;
        tracing::warn!(group, topic, partition, offset, reason, "a record became a dead letter");
        metrics::counter!("topics_dead_letters_total", "topic" => id.topic, "group" => id.group).increment(1);
    }
    Ok(())
}
