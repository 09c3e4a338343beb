use std::collections::BTreeSet;
use std::time::Duration;

use model::{Offer, OfferId, Status};
use offers::archive::{ids, leave};
use offers::due;
use offers::tables::{ARCHIVE_FILES, EVENTS, OFFER};
use offers::write::{Expected, Verb};
use offers::{Offers, Settings};
use store::{FaultPlan, Faults, Range, Read as _, Shard};

use crate::feed::Feed;
use crate::kept::{Engine, Kept, keep, me};

const SELLER: &str = "seller-1";
const DAY: Duration = Duration::from_secs(86_400);

fn id(offer: &Offer) -> OfferId {
    OfferId::from_raw(offer.id).unwrap()
}

async fn ended(kept: &Kept, count: usize) -> Vec<Offer> {
    let mut all = Vec::new();
    for number in 0..count {
        let offer = kept.create(SELLER, &format!("sold {number}")).await;
        let verb = if number % 2 == 0 { Verb::SellElsewhere } else { Verb::Delete };
        all.push(kept.offers.act(id(&offer), verb, Expected::Any, &me()).await.unwrap());
    }
    all
}

async fn files_of(offers: &Offers) -> usize {
    let snapshot = offers.store.snapshot(Shard::of(SELLER)).await.unwrap();
    snapshot.scan(&ARCHIVE_FILES, Range::all(1_000)).await.unwrap().len()
}

/// Read from the archive, an offer is what it was, as a version of its own.
async fn assert_archived(offers: &Offers, expected: &Offer) {
    let found = offers.get(id(expected)).await.unwrap();
    let version = expected.version + 1;
    assert_eq!(found, Offer { archived: true, due_at: 0, version, ..expected.clone() });
}

/// Whoever keeps something of an offer learns that it is gone, and cannot take the news for a repeat.
#[tokio::test]
async fn an_offer_that_leaves_is_told() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let gone = ended(&kept, 3).await;
    leave(&kept.offers, Shard::of(SELLER), gone.clone()).await.unwrap();
    let events = Feed::new(&kept.offers).changes().await;
    for offer in &gone {
        let last = events.iter().rfind(|event| event.offer.as_ref().unwrap().id == offer.id).unwrap();
        let told = last.offer.as_ref().unwrap();
        assert_eq!((last.version, told.version, told.archived), (offer.version + 1, offer.version + 1, true));
        assert_eq!(*told, kept.offers.get(id(offer)).await.unwrap(), "as it is read from there");
        assert_eq!(last.fields[0].path, "archived");
    }
}

#[tokio::test]
async fn offers_that_ended_long_ago_are_found_in_the_archive() {
    let kept = keep(Engine::Memory, Settings { lifetime: 60 * DAY, ..Settings::default() }).await;
    let (gone, alive) = (ended(&kept, 20).await, kept.create(SELLER, "alive").await);
    kept.offers.clock.advance(Settings::default().archive_after);
    let shard = Shard::of(SELLER);
    let done = due::take_turn(&kept.offers, shard).await.unwrap();
    assert_eq!((done.archived, done.expired), (0, 1), "they wait for the day's moment of their shard");
    kept.offers.clock.advance(DAY);
    let done = due::take_turn(&kept.offers, shard).await.unwrap();
    assert_eq!(done.archived, 20);
    for offer in &gone {
        assert_archived(&kept.offers, offer).await;
    }
    assert_eq!(kept.offers.get(id(&alive)).await.unwrap().status(), Status::Expired);
    kept.assert_agrees(SELLER).await;
    let snapshot = kept.offers.store.snapshot(shard).await.unwrap();
    let left: BTreeSet<_> =
        snapshot.scan(&OFFER, Range::all(100)).await.unwrap().into_iter().map(|((id, _), _)| id).collect();
    assert_eq!(left, BTreeSet::from([alive.id]), "no row of another offer is left");
    let events = snapshot.scan(&EVENTS, Range::all(100)).await.unwrap();
    assert!(events.iter().all(|((id, _), _)| *id == alive.id));
    let unknown = OfferId::new(shard.number(), 12_345);
    assert!(matches!(kept.offers.get(unknown).await, Err(offers::Error::NoOffer(_))));
}

#[tokio::test]
async fn small_files_become_one_and_waste_goes() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let mut all = Vec::new();
    for batch in 0..20 {
        let gone = ended(&kept, 5).await;
        let left = leave(&kept.offers, Shard::of(SELLER), gone.clone()).await.unwrap();
        assert_eq!((left.archived, left.stayed), (5, 0), "batch {batch}");
        all.extend(gone);
        assert!(files_of(&kept.offers).await < 8);
    }
    for offer in &all {
        assert_archived(&kept.offers, offer).await;
    }
    kept.assert_agrees(SELLER).await;
}

#[tokio::test]
async fn an_offer_that_changed_meanwhile_stays() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let gone = ended(&kept, 2).await;
    let back = kept.offers.act(id(&gone[0]), Verb::Activate, Expected::Any, &me()).await.unwrap();
    let left = leave(&kept.offers, Shard::of(SELLER), gone.clone()).await.unwrap();
    assert_eq!((left.archived, left.stayed), (1, 1));
    assert_eq!(kept.offers.get(id(&back)).await.unwrap(), back);
    // It ends again, in the same month: the file that has the old version must not be believed.
    let sold = kept.offers.act(id(&back), Verb::SellHere, Expected::Any, &me()).await.unwrap();
    leave(&kept.offers, Shard::of(SELLER), vec![sold.clone()]).await.unwrap();
    assert_archived(&kept.offers, &sold).await;
}

#[tokio::test]
async fn an_archived_id_is_never_given_again() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let gone = ended(&kept, 1).await;
    leave(&kept.offers, Shard::of(SELLER), gone.clone()).await.unwrap();
    let snapshot = kept.offers.store.snapshot(Shard::of(SELLER)).await.unwrap();
    let neighbour = gone[0].id ^ 1;
    let known = ids::known(&snapshot, &[gone[0].id, neighbour]).await.unwrap();
    let month = offers::archive::month_of(kit::Timestamp(gone[0].status_at));
    assert_eq!(known, [Some(ids::Known::In(month)), None]);
}

/// The process dies at its n-th commit, for every n until the batch goes through: every offer is found all the while,
/// in one place or the other, and the next run finishes.
async fn dies_at_every_commit(batches: usize) {
    for commit in 0.. {
        let kept = keep(Engine::Memory, Settings::default()).await;
        let mut all = Vec::new();
        for _ in 1..batches {
            let gone = ended(&kept, 3).await;
            leave(&kept.offers, Shard::of(SELLER), gone.clone()).await.unwrap();
            all.extend(gone);
        }
        let gone = ended(&kept, 120).await;
        all.extend(gone.clone());
        let plan = FaultPlan { crash_at_commit: Some(commit), ..FaultPlan::none(commit) };
        let dying = kept.on_store(kept.offers.store.wrapped(|engine| Faults::new(engine, plan)));
        let outcome = leave(&dying, Shard::of(SELLER), gone.clone()).await;
        for offer in &all {
            let found = kept.offers.get(id(offer)).await.unwrap();
            let version = offer.version + i64::from(found.archived);
            assert_eq!((found.id, found.version), (offer.id, version), "killed at commit {commit}");
        }
        kept.assert_agrees(SELLER).await;
        kept.offers.clock.advance(92 * DAY);
        due::take_turn(&kept.offers, Shard::of(SELLER)).await.unwrap();
        for offer in &all {
            assert_archived(&kept.offers, offer).await;
        }
        kept.assert_agrees(SELLER).await;
        if outcome.is_ok() {
            assert!(commit > 5, "the way has more steps than {commit}");
            return;
        }
    }
}

#[tokio::test]
async fn killed_at_any_step_an_offer_is_never_in_none() {
    dies_at_every_commit(1).await;
}

#[tokio::test]
async fn killed_at_any_step_of_a_merge_likewise() {
    dies_at_every_commit(8).await;
}

#[tokio::test]
async fn an_offer_in_a_live_feed_stays() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let mut offer = ended(&kept, 1).await.remove(0);
    let origin =
        model::Origin { namespace: "default".into(), external_id: "e1".into(), ..Default::default() };
    offer.origin = Some(origin);
    let part = wire::offers::OfferPart { kind: Some(wire::offers::offer_part::Kind::Content(offer.clone())) };
    let row = wire::offers::FeedRow { offer_id: offer.id, ordinal: 1, ..Default::default() };
    let put = async |tx: &mut store::Tx| {
        tx.put(&OFFER, (offer.id, "content"), &part)?;
        tx.put(&offers::tables::FEED, (SELLER, "default", "e1"), &row)?;
        Ok::<_, offers::Error>(())
    };
    kept.offers.store.transact(Shard::of(SELLER), put).await.unwrap();
    let left = leave(&kept.offers, Shard::of(SELLER), vec![offer.clone()]).await.unwrap();
    assert_eq!((left.archived, left.stayed), (0, 1));
    let now = kept.offers.get(id(&offer)).await.unwrap();
    assert!(!now.archived && now.due_at > offer.due_at.min(kept.offers.clock.now().0));
}
