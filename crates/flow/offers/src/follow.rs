//! Followers: systems that keep something of all offers of some sellers, such as the united offers of a business.
//!
//! A follower is a row in the seller's shard. From the transaction that writes it on, every change of the seller's offers is
//! also sent to the follower ([`tell`], called by `Changes::finish`); what was there before is sent by a walk, a page per
//! transaction. Both go through the shard's outbox in the order of the shard's transactions, so the follower misses
//! nothing and hears of no offer's older state after a newer one. A crash leaves a page sent with the cursor behind it, or
//! neither.
//!
//! A follower that comes anew has a greater epoch, and what is sent carries it: what is late of an older one is known by
//! that. Erasing a seller tells the followers first, and then nothing more is sent to them.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use cluster::work::{Done, Due, Entry, Plan, Work, head_by_owner};
use futures::future::try_join_all;
use kit::Timestamp;
use model::{Offer, names};
use prost::Message as _;
use store::{Range, Read as _, Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record, outbox};
use wire::offers::erasure::Phase;
use wire::offers::{Follow, FollowedOffers, FollowerRow, FormerOrigin, OfferChange};

use crate::due::ROLE;
use crate::presets::Preset;
use crate::tables::{CONTENT, ERASURES, FOLLOWER_WALKS, FOLLOWERS, OFFER, PRESETS};
use crate::{Error, FOLLOW_CHANNEL, Offers, Result, read};

/// Offers of one step of a walk.
pub const OFFERS_AT_ONCE: usize = 100;
/// Walks that go on side by side.
const AT_ONCE: usize = 4;
/// Followers of one seller; more are refused.
pub(crate) const MAX_FOLLOWERS: usize = 1_000;
const MAX_NAME_BYTES: usize = 128;
/// A walk waits while the shard's outbox has more rows than this.
const MAX_BACKLOG_ROWS: i64 = 1_000;
/// Bytes of offers in one message.
const MAX_MESSAGE_BYTES: usize = 256 << 10;

/// The consumer of [`model::topics::OFFERS_FOLLOW`].
pub struct Follows;

#[async_trait]
impl Handler for Follows {
    type Message = Follow;

    fn decode(&self, record: &Record) -> Result<(Shard, Follow), Undecodable> {
        let wish = Follow::decode(record.payload.clone()).map_err(|error| Undecodable(error.to_string()))?;
        names::check_seller(&wish.seller_id).map_err(|error| Undecodable(error.to_string()))?;
        let is_name = |text: &str| (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.contains('\0');
        if !is_name(&wish.follower)
            || !is_name(&wish.key)
            || topics::check_name("topic", &wish.topic).is_err()
        {
            return Err(Undecodable("a follower has a name, a topic and a key".to_owned()));
        }
        Ok((Shard::of(&wish.seller_id), wish))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Follow>) -> Result<(), Failure> {
        let keys: Vec<_> =
            messages.iter().map(|wish| (wish.seller_id.clone(), wish.follower.clone())).collect();
        tx.prefetch(&FOLLOWERS, keys).await?;
        let mut counts = counts(tx, &messages).await?;
        for wish in messages {
            follow(tx, wish, &mut counts).await?;
        }
        Ok(())
    }
}

/// How many followers sellers have, of those to whom a new one comes.
async fn counts(tx: &Tx, wishes: &[Follow]) -> Result<BTreeMap<String, usize>> {
    let known =
        tx.get_many(&FOLLOWERS, wishes.iter().map(|wish| (&*wish.seller_id, &*wish.follower))).await?;
    let new = wishes.iter().zip(known).filter(|(_, row)| row.is_none());
    let sellers: BTreeSet<String> = new.map(|(wish, _)| wish.seller_id.clone()).collect();
    let ranges: Vec<Range> = sellers
        .iter()
        .map(|seller| Range::prefix((seller.as_str(),), MAX_FOLLOWERS))
        .collect::<Result<_, _>>()?;
    let rows = try_join_all(ranges.into_iter().map(|range| tx.scan(&FOLLOWERS, range))).await?;
    Ok(sellers.into_iter().zip(rows.iter().map(Vec::len)).collect())
}

/// Takes a wish, unless a newer one was heard.
async fn follow(tx: &mut Tx, wish: Follow, counts: &mut BTreeMap<String, usize>) -> Result<()> {
    let Follow { seller_id, follower, topic, key, epoch, gone } = wish;
    let row = (seller_id.as_str(), follower.as_str());
    let before = tx.get(&FOLLOWERS, row).await?;
    if before.as_ref().is_some_and(|before| before.epoch >= epoch) {
        return Ok(());
    }
    if before.is_none() {
        let count = counts.entry(seller_id.clone()).or_default();
        if *count >= MAX_FOLLOWERS {
            return Err(Error::Missing(format!("seller {seller_id} has {MAX_FOLLOWERS} followers")));
        }
        *count += 1;
    }
    tx.put(&FOLLOWERS, row, &FollowerRow { topic, key, epoch, gone, ..FollowerRow::default() })?;
    if gone {
        tx.delete(&FOLLOWER_WALKS, row)?;
    } else {
        tx.put(&FOLLOWER_WALKS, row, &())?;
        tx.wake(FOLLOW_CHANNEL);
    }
    Ok(())
}

/// Sends the changes of a transaction to those who follow their sellers.
pub(crate) async fn tell(
    tx: &mut Tx,
    sellers: &BTreeSet<String>,
    events: &[Message],
    former: &[FormerOrigin],
) -> Result<()> {
    for seller in sellers {
        let followers = followers(tx, seller).await?;
        if followers.is_empty() || is_being_erased(tx, seller).await? {
            continue;
        }
        let changes = events.iter().filter_map(|event| OfferChange::decode(event.payload.clone()).ok());
        let offers: Vec<Offer> =
            changes.filter_map(|change| change.offer).filter(|offer| offer.seller_id == *seller).collect();
        for (follower, row) in followers {
            send(tx, seller, &follower, &row, &offers, former).await?;
        }
    }
    Ok(())
}

/// Tells the followers that the seller is erased; they hear nothing more. One who left may still keep what it heard, up to
/// the epoch before the one with which it left.
pub(crate) async fn tell_erased(tx: &mut Tx, seller: &str) -> Result<()> {
    let rows = tx.scan(&FOLLOWERS, Range::prefix((seller,), MAX_FOLLOWERS)?).await?;
    for ((_, follower), row) in rows {
        let word = FollowedOffers {
            seller_id: seller.to_owned(),
            follower: follower.clone(),
            epoch: if row.gone { row.epoch - 1 } else { row.epoch },
            erased: true,
            ..FollowedOffers::default()
        };
        let message = Message::new(row.key.clone(), word.encode_to_vec());
        outbox::send(tx, &row.topic, vec![message]).await?;
        tx.put(&FOLLOWERS, (seller, follower.as_str()), &FollowerRow { gone: true, ..row })?;
        tx.delete(&FOLLOWER_WALKS, (seller, follower.as_str()))?;
    }
    Ok(())
}

/// Forgets those who left, when the seller is erased; those who came meanwhile go on.
pub(crate) async fn forget_gone(tx: &mut Tx, seller: &str) -> Result<()> {
    let rows = tx.scan(&FOLLOWERS, Range::prefix((seller,), MAX_FOLLOWERS)?).await?;
    for ((_, follower), _) in rows.iter().filter(|(_, row)| row.gone) {
        tx.delete(&FOLLOWERS, (seller, follower.as_str()))?;
    }
    tx.wake(FOLLOW_CHANNEL);
    Ok(())
}

/// What is erased is told to nobody, not even to one who came after the wish.
async fn is_being_erased(tx: &Tx, seller: &str) -> Result<bool> {
    let erasure = tx.get(&ERASURES, (seller,)).await?;
    Ok(erasure.is_some_and(|erasure| erasure.phase() != Phase::Done))
}

async fn followers(tx: &Tx, seller: &str) -> Result<Vec<(String, FollowerRow)>> {
    let rows = tx.scan(&FOLLOWERS, Range::prefix((seller,), MAX_FOLLOWERS)?).await?;
    Ok(rows.into_iter().map(|((_, follower), row)| (follower, row)).filter(|(_, row)| !row.gone).collect())
}

impl Offers {
    /// The names of those who follow a seller.
    pub async fn followers_of(&self, seller: &str) -> Result<Vec<String>> {
        let range = Range::prefix((seller,), MAX_FOLLOWERS)?;
        let rows = self.store.snapshot(Shard::of(seller)).await?.scan(&FOLLOWERS, range).await?;
        Ok(rows.into_iter().filter(|(_, row)| !row.gone).map(|((_, follower), _)| follower).collect())
    }
}

async fn send(
    tx: &mut Tx,
    seller: &str,
    follower: &str,
    row: &FollowerRow,
    offers: &[Offer],
    former: &[FormerOrigin],
) -> Result<()> {
    let empty = FollowedOffers {
        seller_id: seller.to_owned(),
        follower: follower.to_owned(),
        epoch: row.epoch,
        ..FollowedOffers::default()
    };
    let (mut messages, mut next, mut bytes) = (Vec::new(), empty.clone(), 0);
    for offer in offers {
        let size = offer.encoded_len();
        if bytes + size > MAX_MESSAGE_BYTES && !next.offer.is_empty() {
            messages.push(Message::new(row.key.clone(), next.encode_to_vec()));
            (next, bytes) = (empty.clone(), 0);
        }
        bytes += size;
        next.former.extend(former.iter().filter(|former| former.offer_id == offer.id).cloned());
        next.offer.push(offer.clone());
    }
    if !next.offer.is_empty() {
        messages.push(Message::new(row.key.clone(), next.encode_to_vec()));
    }
    outbox::send(tx, &row.topic, messages).await?;
    Ok(())
}

/// Walks over what sellers had when somebody began to follow them.
pub struct FollowerWalks(pub Offers);

#[async_trait]
impl Work for FollowerWalks {
    type Key = (String, String);
    type Error = Error;

    fn plan(&self) -> Plan {
        Plan::new("followers", ROLE, FOLLOW_CHANNEL, AT_ONCE)
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> Result<Due<Self::Key>> {
        let entry = |(seller, follower): (String, String), ()| {
            let key = (seller.clone(), follower);
            Some(Entry { at: Timestamp(0), owner: seller, key, long: false })
        };
        Ok(head_by_owner(&self.0.store, &FOLLOWER_WALKS, shards, entry).await?)
    }

    async fn run(&self, shard: Shard, key: &(String, String)) -> Result<Done> {
        step(&self.0, shard, &key.0, &key.1).await
    }
}

async fn step(offers: &Offers, shard: Shard, seller: &str, follower: &str) -> Result<Done> {
    let page = async |tx: &mut Tx| {
        offers.cluster.check(tx, ROLE).await?;
        walk(tx, seller, follower).await
    };
    offers.store.transact(shard, page).await
}

/// Sends the next page of a seller's offers.
pub async fn walk(tx: &mut Tx, seller: &str, follower: &str) -> Result<Done> {
    let key = (seller, follower);
    let Some(row) = tx.get(&FOLLOWERS, key).await?.filter(|row| !row.gone) else {
        tx.delete(&FOLLOWER_WALKS, key)?;
        return Ok(Done::Finished);
    };
    if is_being_erased(tx, seller).await? || outbox::backlog(tx).await? > MAX_BACKLOG_ROWS {
        return Ok(Done::NotNow);
    }
    let behind = (seller, Preset::All.id(), row.walked_created_at, row.walked_offer_id);
    let range = Range::prefix((seller, Preset::All.id()), OFFERS_AT_ONCE)?.after(behind)?;
    let page = tx.scan(&PRESETS, range).await?;
    let ids: Vec<_> = page.iter().map(|((_, _, _, id), ())| (*id, CONTENT)).collect();
    let parts = tx.get_many(&OFFER, ids).await?;
    let mut offers = Vec::with_capacity(parts.len());
    for part in parts.into_iter().flatten() {
        offers.extend(read::content(part));
    }
    send(tx, seller, follower, &row, &offers, &[]).await?;
    match page.last() {
        Some(((_, _, walked_created_at, walked_offer_id), ())) if page.len() == OFFERS_AT_ONCE => {
            let (walked_created_at, walked_offer_id) = (*walked_created_at, *walked_offer_id);
            tx.put(&FOLLOWERS, key, &FollowerRow { walked_created_at, walked_offer_id, ..row })?;
            Ok(Done::More)
        }
        _ => {
            tx.delete(&FOLLOWER_WALKS, key)?;
            Ok(Done::Finished)
        }
    }
}
