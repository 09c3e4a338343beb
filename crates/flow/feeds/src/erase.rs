//! A seller is erased: his feeds end, and their history, files and settings go.
//!
//! One transaction for the messages of a shard in a slice of `offers.erasures`: every feed ends as in a removal, but without a last load that takes
//! the offers along: they are erased by themselves. A load under way is called off, and what was to be told is not. Loads,
//! errors and files go by the clean-up, as always. Of a feed only its number of loads stays, so that none is given twice;
//! of the seller only the moment of the erasure: loads that are made from now on carry it, and by it the offers tell them
//! from what is still on its way. A repeated message, also when the seller has come back meanwhile, does nothing.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::future::try_join_all;
use store::{Range, Read as _, Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::{FeedRow, FeedStatus};
use wire::offers::SellerErasure;

use crate::tables::{ERASED, FEED, FEED_CATEGORIES, FEED_LOADER_TASK, FEED_SURVEYS, QUOTAS, WEBHOOKS};
use crate::tasks::FeedKey;
use crate::{Feeds, Result, cleanup, feed};

/// What the shard still has to tell, of all sellers, is looked through in pages.
const WEBHOOKS_AT_ONCE: usize = 1_000;

/// Takes the word that a seller is erased from the topic [`model::topics::OFFERS_ERASURES`].
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
        let mut sellers: BTreeMap<String, i64> = BTreeMap::new();
        for word in messages {
            if tx.get(&ERASED, (&*word.seller_id,)).await?.is_none_or(|last| last < word.asked_at) {
                let asked_at = sellers.entry(word.seller_id).or_default();
                *asked_at = word.asked_at.max(*asked_at);
            }
        }
        if !sellers.is_empty() {
            erase(tx, &self.0, &sellers).await?;
        }
        Ok(())
    }
}

/// The sellers with the moments of their erasures. What has to be read of them is asked for together.
async fn erase(tx: &mut Tx, feeds: &Feeds, sellers: &BTreeMap<String, i64>) -> Result<()> {
    let ranges: Vec<Range> = sellers
        .keys()
        .map(|seller| Range::prefix((seller.as_str(),), usize::MAX))
        .collect::<store::Result<_>>()?;
    let reader = &*tx;
    let rows = try_join_all(ranges.into_iter().map(|range| reader.scan(&FEED, range))).await?;
    let keys: Vec<FeedKey> =
        rows.into_iter().flatten().map(|((seller, namespace), _)| FeedKey { seller, namespace }).collect();
    tx.prefetch(&FEED, keys.iter().map(FeedKey::row)).await?;
    tx.prefetch(&FEED_LOADER_TASK, keys.iter().map(FeedKey::row)).await?;
    feed::end_all(tx, feeds, &keys).await?;
    forget_categories(tx, &keys).await?;
    for key in keys {
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
    forget_webhooks(tx, sellers).await?;
    for (seller, asked_at) in sellers {
        tx.delete(&QUOTAS, (seller.as_str(),))?;
        tx.put(&ERASED, (seller.as_str(),), asked_at)?;
    }
    Ok(())
}

/// What was decided about the sellers' categories.
async fn forget_categories(tx: &mut Tx, keys: &[FeedKey]) -> Result<()> {
    let ranges: Vec<Range> =
        keys.iter().map(|key| Range::prefix(key.row(), usize::MAX)).collect::<store::Result<_>>()?;
    let reader = &*tx;
    let found = try_join_all(ranges.into_iter().map(|range| reader.scan(&FEED_CATEGORIES, range))).await?;
    for (name, _) in found.into_iter().flatten() {
        tx.delete(&FEED_CATEGORIES, name)?;
    }
    for key in keys {
        tx.delete(&FEED_SURVEYS, key.row())?;
    }
    Ok(())
}

/// They stand by their moment, so those of the sellers are found by looking at all of the shard.
async fn forget_webhooks(tx: &mut Tx, sellers: &BTreeMap<String, i64>) -> Result<()> {
    let mut range = Range::all(WEBHOOKS_AT_ONCE);
    loop {
        let page = tx.scan(&WEBHOOKS, range.clone()).await?;
        for (key, _) in page.iter().filter(|((_, owner, ..), _)| sellers.contains_key(owner)) {
            tx.delete(&WEBHOOKS, key)?;
        }
        match page.last() {
            Some((last, _)) if page.len() == WEBHOOKS_AT_ONCE => range = range.after(last)?,
            _ => return Ok(()),
        }
    }
}
