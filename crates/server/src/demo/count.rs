use async_trait::async_trait;
use store::{Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};

use super::goods::Change;
use super::tables::COUNTS;

/// Counts the changes of each seller, each once.
pub(super) struct Count;

#[async_trait]
impl Handler for Count {
    fn shard_of(&self, record: &Record) -> Result<Shard, Undecodable> {
        Ok(Shard::of(&decode(record)?.seller))
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> Result<(), Failure> {
        for record in records {
            let change = decode(record).map_err(|Undecodable(reason)| Failure::Determinate(reason))?;
            let mut count = tx.get(&COUNTS, (change.seller.as_str(),)).await?.unwrap_or_default();
            count.changes += 1;
            count.last_change_at = count.last_change_at.max(change.changed_at.0);
            tx.put(&COUNTS, (change.seller.as_str(),), &count)?;
        }
        Ok(())
    }
}

fn decode(record: &Record) -> Result<Change, Undecodable> {
    serde_json::from_slice(&record.payload).map_err(|error| Undecodable(error.to_string()))
}
