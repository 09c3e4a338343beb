//! Shipments come in.
//!
//! A message is taken apart and converted outside of the transaction. One whose keys cannot be read becomes the topic's dead
//! letter; an offer that cannot be imported is owed in the transaction that moves the group on, so nothing behind it waits. A
//! failure of the store stops the partition, and it is tried again.

use std::collections::BTreeMap;

use async_trait::async_trait;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Gap, Handler, Undecodable};
use united::shard_of;

use crate::convert::{Delivered, read_batch};
use crate::import::{import, import_or_owe};
use crate::{Result, Silver, reread};

/// The consumer of [`model::topics::UNITED_OFFERS`].
pub struct Shipments(pub Silver);

#[async_trait]
impl Handler for Shipments {
    type Message = Vec<Delivered>;

    fn decode(&self, record: &Record) -> Result<(Shard, Vec<Delivered>), Undecodable> {
        let delivered = read_batch(&record.payload).map_err(Undecodable)?;
        let business = delivered.first().ok_or_else(|| Undecodable("a message without offers".to_owned()))?;
        Ok((shard_of(business.key.business), delivered))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Vec<Delivered>>) -> Result<(), Failure> {
        // Together they fail as one, and are tried one by one; a message that fails alone owes what it cannot bring.
        let is_alone = messages.len() == 1;
        let mut by_business: BTreeMap<u32, Vec<Delivered>> = BTreeMap::new();
        for delivered in messages.into_iter().flatten() {
            by_business.entry(delivered.key.business).or_default().push(delivered);
        }
        let (settings, now) = (self.0.settings(), self.0.united.clock.now());
        for delivered in by_business.into_values() {
            let imported = if is_alone {
                import_or_owe(tx, &settings.import, &delivered, now).await?
            } else {
                import(tx, &settings.import, &delivered, now).await?
            };
            self.0.count(&imported);
        }
        Ok(())
    }

    async fn gap(&self, gap: &Gap) -> Result<(), Failure> {
        let businesses = reread::begin(&self.0, gap).await?;
        tracing::error!(businesses, %gap, "shipments were lost: their businesses are read again");
        Ok(())
    }
}
