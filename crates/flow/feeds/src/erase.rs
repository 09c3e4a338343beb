//! A seller is erased: his feeds end, and their history, files and settings go.
//!
//! One transaction per message of `offers.erasures`: every feed ends as in a removal, but without a last load that takes
//! the offers along: they are erased by themselves. A load under way is called off, and what was to be told is not. Loads,
//! errors and files go by the clean-up, as always. Of a feed only its number of loads stays, so that none is given twice;
//! of the seller only the moment of the erasure: loads that are made from now on carry it, and by it the offers tell them
//! from what is still on its way. A repeated message, also when the seller has come back meanwhile, does nothing.

use async_trait::async_trait;
use store::{Range, Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::{FeedRow, FeedStatus};
use wire::offers::SellerErasure;

use crate::tables::{ERASED, FEED, FEED_CATEGORIES, FEED_SURVEYS, QUOTAS, WEBHOOKS};
use crate::tasks::FeedKey;
use crate::{Feeds, Result, cleanup, feed};

/// What the shard still has to tell, of all sellers, is looked through in pages.
const WEBHOOKS_AT_ONCE: usize = 1_000;

/// Takes the word that a seller is erased from the topic [`crate::ERASURES_TOPIC`].
pub struct Erasures(pub Feeds);

#[async_trait]
impl Handler for Erasures {
    type Message = SellerErasure;

    fn decode(&self, record: &Record) -> std::result::Result<(Shard, SellerErasure), Undecodable> {
        let word = model::erasure::read(&record.payload).map_err(Undecodable)?;
        Ok((Shard::of(&word.seller_id), word))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<SellerErasure>) -> std::result::Result<(), Failure> {
        tx.prefetch(&ERASED, messages.iter().map(|word| (&*word.seller_id,))).await?;
        for word in messages {
            erase(tx, &self.0, &word).await?;
        }
        Ok(())
    }
}

async fn erase(tx: &mut Tx, feeds: &Feeds, word: &SellerErasure) -> Result<()> {
    let seller = word.seller_id.as_str();
    if tx.get(&ERASED, (seller,)).await?.is_some_and(|last| last >= word.asked_at) {
        return Ok(());
    }
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
        forget_categories(tx, &key).await?;
        feed::schedule(tx, &key, &bare, feeds.clock.now()).await?;
    }
    tx.delete(&QUOTAS, (seller,))?;
    forget_webhooks(tx, seller).await?;
    Ok(tx.put(&ERASED, (seller,), &word.asked_at)?)
}

async fn forget_categories(tx: &mut Tx, key: &FeedKey) -> Result<()> {
    for (name, _) in tx.scan(&FEED_CATEGORIES, Range::prefix(key.row(), usize::MAX)?).await? {
        tx.delete(&FEED_CATEGORIES, name)?;
    }
    Ok(tx.delete(&FEED_SURVEYS, key.row())?)
}

/// They stand by their moment, so the seller's are found by looking at all of the shard.
async fn forget_webhooks(tx: &mut Tx, seller: &str) -> Result<()> {
    let mut range = Range::all(WEBHOOKS_AT_ONCE);
    loop {
        let page = tx.scan(&WEBHOOKS, range.clone()).await?;
        for (key, _) in page.iter().filter(|((_, owner, ..), _)| owner == seller) {
            tx.delete(&WEBHOOKS, key)?;
        }
        match page.last() {
            Some((last, _)) if page.len() == WEBHOOKS_AT_ONCE => range = range.after(last)?,
            _ => return Ok(()),
        }
    }
}
