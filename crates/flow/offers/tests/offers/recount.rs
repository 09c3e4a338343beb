//! What a seller's lists, counts, counters and feed heads should be, counted from the offers.

use std::collections::{BTreeMap, BTreeSet};

use model::{Offer, Status};
use offers::Offers;
use offers::counters::Counters;
use offers::presets::Preset;
use offers::tables::{DUE, FEED, FEED_HEAD, FEED_ORDINALS, OFFER, PRESETS};
use store::{Range, Read as _, Shard, Snapshot};
use wire::offers::offer_part::Kind;

const ALL: usize = 1_000_000;

/// Fails with words where anything derived differs from a full recount of the seller's offers.
pub(crate) async fn recount(offers: &Offers, seller: &str) {
    let snapshot = offers.store.snapshot(Shard::of(seller)).await.unwrap();
    let parts = snapshot.scan(&OFFER, Range::all(ALL)).await.unwrap();
    let all: Vec<Offer> = parts
        .into_iter()
        .filter_map(|(_, part)| match part.kind {
            Some(Kind::Content(offer)) if offer.seller_id == seller => Some(offer),
            _ => None,
        })
        .collect();
    lists(offers, &snapshot, seller, &all).await;
    counters(offers, seller, &all).await;
    due(&snapshot, &all).await;
    feeds(&snapshot, seller, &all).await;
}

async fn lists(offers: &Offers, snapshot: &Snapshot, seller: &str, all: &[Offer]) {
    for (preset, stored) in offers.counts(seller).await.unwrap() {
        let mut expected: Vec<_> = all
            .iter()
            .filter(|offer| preset.holds(offer))
            .map(|offer| (offer.created_at, offer.id))
            .collect();
        expected.sort_unstable();
        let range = Range::prefix((seller, preset.id()), ALL).unwrap();
        let rows = snapshot.scan(&PRESETS, range).await.unwrap();
        let rows: Vec<_> = rows.into_iter().map(|((_, _, created, id), ())| (created, id)).collect();
        assert_eq!(rows, expected, "the list {}", preset.name());
        assert_eq!(stored, expected.len() as i64, "the count of {}", preset.name());
    }
}

async fn counters(offers: &Offers, seller: &str, all: &[Offer]) {
    let of = |status: Status| all.iter().filter(|offer| offer.status() == status).count() as i64;
    let Counters { active, expired, banned, .. } = offers.counters(seller).await.unwrap();
    let expected = (of(Status::Active), of(Status::Expired), of(Status::Banned));
    assert_eq!((active, expired, banned), expected, "the counters active, expired, banned");
}

async fn due(snapshot: &Snapshot, all: &[Offer]) {
    let mut expected: Vec<_> =
        all.iter().filter(|offer| offer.due_at != 0).map(|offer| (offer.due_at, offer.id)).collect();
    expected.sort_unstable();
    let rows: Vec<_> = snapshot.scan(&DUE, Range::all(ALL)).await.unwrap();
    let mut rows: Vec<_> = rows.into_iter().map(|(key, ())| key).collect();
    let own: BTreeSet<i64> = all.iter().map(|offer| offer.id).collect();
    rows.retain(|(_, id)| own.contains(id));
    assert_eq!(rows, expected, "what is due");
}

/// Every living feed row has its ordinal row and its offer, every ordinal row its feed row, and the heads say how many.
async fn feeds(snapshot: &Snapshot, seller: &str, all: &[Offer]) {
    let by_id: BTreeMap<i64, &Offer> = all.iter().map(|offer| (offer.id, offer)).collect();
    let rows = snapshot.scan(&FEED, Range::prefix((seller,), ALL).unwrap()).await.unwrap();
    let ordinals = snapshot.scan(&FEED_ORDINALS, Range::prefix((seller,), ALL).unwrap()).await.unwrap();
    let mut expected: Vec<_> = Vec::new();
    let mut live: BTreeMap<String, i64> = BTreeMap::new();
    let mut owned = 0;
    for ((_, namespace, external_id), row) in &rows {
        if row.dead_at != 0 {
            continue;
        }
        expected.push((namespace.clone(), row.ordinal, external_id.clone()));
        if row.offer_id == 0 {
            continue;
        }
        *live.entry(namespace.clone()).or_default() += 1;
        owned += 1;
        let origin = by_id[&row.offer_id].origin.clone().unwrap_or_default();
        assert_eq!((&origin.namespace, &origin.external_id), (namespace, external_id));
        assert_ne!(by_id[&row.offer_id].status(), Status::Deleted, "{external_id}");
    }
    expected.sort();
    let stored: Vec<_> =
        ordinals.into_iter().map(|((_, namespace, ordinal), id)| (namespace, ordinal, id)).collect();
    assert_eq!(stored, expected, "the ordinal rows are those of the living feed rows");
    // A sold one stays when its feed lets it go.
    let has_row = |id: i64| rows.iter().any(|(_, row)| row.offer_id == id && row.dead_at == 0);
    let from_feed =
        all.iter().filter(|offer| Preset::FromFeed.holds(offer) && offer.status() != Status::Deleted);
    let fed = from_feed.filter(|offer| !model::status::is_sold(offer.status()) || has_row(offer.id)).count();
    assert_eq!(owned, fed, "every offer of a feed has its row");
    let heads = snapshot.scan(&FEED_HEAD, Range::prefix((seller,), ALL).unwrap()).await.unwrap();
    for ((_, namespace), head) in heads {
        assert_eq!(head.live, live.remove(&namespace).unwrap_or(0), "live in {namespace}");
    }
    assert!(live.is_empty(), "namespaces without a head: {live:?}");
}
