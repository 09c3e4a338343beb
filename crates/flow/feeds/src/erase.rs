//! A seller is erased: his feeds end, and their history, files and settings go.
//!
//! One transaction per message of `offers.erasures`: every feed ends as in a removal, but without a last load that
//! takes the offers along: they are erased by themselves. A load under way is called off. Loads, errors and files go by the clean-up, as always. Of a feed only its number of
//! loads stays, so that none is given twice; of the seller nothing else. A repeated message finds nothing to do.

use async_trait::async_trait;
use store::{Range, Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::{FeedRow, FeedStatus};

use crate::tables::{FEED, QUOTAS};
use crate::tasks::FeedKey;
use crate::{Feeds, Result, cleanup, feed};

/// Takes names of sellers from the topic [`crate::ERASURES_TOPIC`].
pub struct Erasures(pub Feeds);

#[async_trait]
impl Handler for Erasures {
    fn shard_of(&self, record: &Record) -> std::result::Result<Shard, Undecodable> {
        Ok(Shard::of(seller(record)?))
    }

    async fn apply(&self, tx: &mut Tx, records: &[Record]) -> std::result::Result<(), Failure> {
        for record in records {
            let seller = seller(record).map_err(|Undecodable(reason)| Failure::Determinate(reason))?;
            erase(tx, &self.0, seller).await.map_err(crate::error::failure)?;
        }
        Ok(())
    }
}

fn seller(record: &Record) -> std::result::Result<&str, Undecodable> {
    let name = std::str::from_utf8(&record.payload).map_err(|error| Undecodable(error.to_string()))?;
    model::names::check_seller(name).map_err(|error| Undecodable(error.to_string()))?;
    Ok(name)
}

async fn erase(tx: &mut Tx, feeds: &Feeds, seller: &str) -> Result<()> {
    let rows = tx.scan(&FEED, Range::prefix((seller,), usize::MAX)?).await?;
    for ((seller, namespace), _) in rows {
        let key = FeedKey { seller, namespace };
        feed::end_all(tx, feeds, &key).await?;
        // Ending loads may have taught the feed something.
        let mut row = tx.get(&FEED, key.row()).await?.unwrap_or_default();
        cleanup::release_fingerprints(tx, &mut row).await?;
        let bare = FeedRow {
            version: row.version + 1,
            status: FeedStatus::FeedRemoved.into(),
            last_task_id: row.last_task_id,
            ..FeedRow::default()
        };
        tx.put(&FEED, key.row(), &bare)?;
        feed::schedule(tx, &key, &bare, feeds.clock.now()).await?;
    }
    Ok(tx.delete(&QUOTAS, (seller,))?)
}
