//! Any bytes as messages of the topics that the offers read, one after another: each is taken or refused for good, and
//! whatever was taken, lists and counts agree with the offers. A message is its kind, the length of its payload in two
//! bytes, and the payload.
#![no_main]

use std::sync::OnceLock;

use catalog::Catalog;
use kit::{Clock, Timestamp};
use model::OfferId;
use offers::autoload::{Batches, Decisions, sweep};
use offers::fsck::{Mode, fsck_shard};
use offers::moderation::Opinions;
use offers::photos::PhotoResults;
use offers::tables::OFFER;
use offers::{Offers, Settings};
use prost::Message as _;
use store::{Range, Schema, Shard, Store, Tx};
use topics::Record;
use topics::consume::{Failure, Handler};
use wire::feeds::FeedMessage;
use wire::offers::Opinion;
use wire::photos::PhotoResult;

const MOST_MESSAGES: usize = 8;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(take(data));
});

async fn take(mut data: &[u8]) {
    let offers = offers();
    let mut shards = Vec::new();
    for _ in 0..MOST_MESSAGES {
        let [kind, low, high, rest @ ..] = data else { break };
        let (payload, rest) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([*low, *high]))));
        data = rest;
        let known = known(&offers, &shards).await;
        let shard = match kind % 4 {
            0 => apply(&offers, &Batches(offers.clone()), payload.to_vec()).await,
            1 => apply(&offers, &Decisions(offers.clone()), payload.to_vec()).await,
            2 => apply(&offers, &Opinions(offers.clone()), opinion(payload, known)).await,
            _ => apply(&offers, &PhotoResults(offers.clone()), photos(payload, known)).await,
        };
        shards.extend(shard);
    }
    sweep::work(&offers, None, &shards).await.expect("memory does not fail");
    for shard in shards {
        let report = fsck_shard(&offers, shard, None, Mode::Look).await.expect("memory does not fail");
        assert!(report.is_clean(), "{report:?}");
    }
}

/// As the consumer does it; says in which shard.
async fn apply(offers: &Offers, handler: &impl Handler, payload: Vec<u8>) -> Option<Shard> {
    let (shard, message) = handler.decode(&record(payload)).ok()?;
    let body = async |tx: &mut Tx| handler.apply(tx, vec![message]).await;
    match offers.store.transact(shard, body).await {
        Ok(()) | Err(Failure::Determinate(_)) => Some(shard),
        // The partition would stand still before it for ever.
        Err(Failure::Transient(reason)) => panic!("{reason}"),
    }
}

fn record(payload: Vec<u8>) -> Record {
    // The key of a load's message is its seller.
    let key = FeedMessage::decode(payload.as_slice()).map(|message| message.seller_id).unwrap_or_default();
    Record {
        partition: 0,
        offset: 0,
        key: key.into_bytes(),
        payload: payload.into(),
        headers: Vec::new(),
        timestamp: Timestamp(0),
    }
}

/// An offer that is there: nobody can guess one.
async fn known(offers: &Offers, shards: &[Shard]) -> Option<OfferId> {
    let rows = offers.store.scan_shards(&OFFER, shards, Range::all(1)).await.expect("memory does not fail");
    rows.first().and_then(|(_, (id, _), _)| OfferId::from_raw(*id))
}

fn opinion(payload: &[u8], known: Option<OfferId>) -> Vec<u8> {
    let (Ok(mut opinion), Some(id)) = (Opinion::decode(payload), known) else { return payload.to_vec() };
    opinion.offer_id = id.to_string();
    opinion.encode_to_vec()
}

fn photos(payload: &[u8], known: Option<OfferId>) -> Vec<u8> {
    let (Ok(mut result), Some(id)) = (PhotoResult::decode(payload), known) else { return payload.to_vec() };
    result.offer_id = id.raw();
    result.encode_to_vec()
}

/// On an empty store; the catalog is the same for all.
fn offers() -> Offers {
    static FIRST: OnceLock<Offers> = OnceLock::new();
    let tables = || Schema::new([offers::tables(), spine::tables()].concat());
    let first = FIRST.get_or_init(|| {
        let clock = Clock::manual(Timestamp(1_760_000_000_000_000));
        let base = spine::Base::alone(Store::memory(tables()), clock);
        Offers::new(&base, Settings::default(), Catalog::shipped())
    });
    Offers { store: Store::memory(tables()), ..first.clone() }
}
