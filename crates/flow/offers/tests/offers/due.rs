use std::time::Duration;

use kit::Shutdown;
use model::{OfferId, Status};
use offers::Settings;
use offers::due::{self, DueOffers, Turn};
use offers::history::OldEvents;
use offers::tables::EVENTS;
use offers::write::{Expected, Verb};
use store::{Range, Read as _, Shard};
use wire::offers::actor;

use crate::kept::{Engine, keep, me, run_due};

const SELLER: &str = "seller-1";
const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn an_active_offer_expires_in_its_time_and_the_history_says_why() {
    let settings = Settings { lifetime: Duration::from_secs(100), ..Settings::default() };
    let kept = keep(Engine::Memory, settings).await;
    let offer = kept.create(SELLER, "phone").await;
    let (id, shard) = (OfferId::from_raw(offer.id).unwrap(), Shard::of(SELLER));
    kept.offers.clock.advance(Duration::from_secs(99));
    let done = due::take_turn(&kept.offers, shard).await.unwrap();
    assert_eq!(done, Turn::default());
    kept.offers.clock.advance(Duration::from_secs(1));
    let done = due::take_turn(&kept.offers, shard).await.unwrap();
    assert_eq!(done.expired, 1);
    let expired = kept.offers.get(id).await.unwrap();
    assert_eq!((expired.status(), expired.version), (Status::Expired, offer.version + 1));
    let snapshot = kept.offers.store.snapshot(shard).await.unwrap();
    let event = snapshot.get(&EVENTS, (offer.id, expired.version)).await.unwrap().unwrap();
    let actor = event.actor.unwrap();
    assert_eq!((actor.kind(), actor.reason.as_str()), (actor::Kind::Stage, "expired"));
    kept.assert_agrees(SELLER).await;
}

#[tokio::test]
async fn a_row_that_is_too_early_by_the_settings_of_today_is_written_anew() {
    let short = Settings { archive_after: Duration::from_secs(10), ..Settings::default() };
    let kept = keep(Engine::Memory, short).await;
    let offer = kept.create(SELLER, "phone").await;
    let id = OfferId::from_raw(offer.id).unwrap();
    kept.offers.act(id, Verb::Delete, Expected::Any, &me()).await.unwrap();
    kept.offers.clock.advance(2 * DAY);
    let longer = offers::Offers { settings: Settings::default().into(), ..kept.offers.clone() };
    let done = due::take_turn(&longer, Shard::of(SELLER)).await.unwrap();
    assert_eq!((done.rewritten, done.archived), (1, 0));
    let now = kept.offers.get(id).await.unwrap();
    let may_leave = kit::Timestamp(now.status_at).plus(Settings::default().archive_after);
    assert!(now.due_at >= may_leave.0 && now.due_at < may_leave.plus(DAY).0);
    kept.assert_agrees(SELLER).await;
}

#[tokio::test]
async fn the_history_is_forgotten_when_it_is_old() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let offer = kept.create(SELLER, "phone").await;
    let id = OfferId::from_raw(offer.id).unwrap();
    kept.offers.act(id, Verb::Withdraw, Expected::Any, &me()).await.unwrap();
    kept.offers.clock.advance(Settings::default().events_kept);
    kept.offers.act(id, Verb::Activate, Expected::Any, &me()).await.unwrap();
    let shard = Shard::of(SELLER);
    let events = async || {
        run_due(&kept.offers, OldEvents, shard).await.unwrap();
        kept.offers.store.snapshot(shard).await.unwrap().scan(&EVENTS, Range::all(10)).await.unwrap().len()
    };
    assert_eq!(events().await, 2);
    kept.offers.clock.advance(DAY);
    assert_eq!(events().await, 1);
}

/// The loop itself, on virtual time: what becomes due while it sleeps is dealt with.
#[tokio::test(start_paused = true)]
async fn the_loop_takes_what_is_due() {
    let settings = Settings { lifetime: Duration::from_secs(100), ..Settings::default() };
    let kept = keep(Engine::Memory, settings).await;
    let shutdown = Shutdown::new();
    let (offers, end) = (kept.offers.clone(), shutdown.clone());
    let task = tokio::spawn(cluster::work::run(offers.cluster.clone(), DueOffers(offers), end));
    let offer = kept.create(SELLER, "phone").await;
    let id = OfferId::from_raw(offer.id).unwrap();
    let mut rounds = 0;
    while kept.offers.get(id).await.unwrap().status() != Status::Expired {
        kept.offers.clock.advance(Duration::from_secs(10));
        tokio::time::sleep(Duration::from_secs(10)).await;
        rounds += 1;
        assert!(rounds < 20, "the offer did not expire");
    }
    assert!(rounds >= 10, "it expired too early, in round {rounds}");
    shutdown.call();
    task.await.unwrap();
}
