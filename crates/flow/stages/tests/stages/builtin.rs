//! The stages that come with the program, on virtual time.

use std::time::Duration;

use cluster::work::run_due;
use model::{Offer, OfferId, Photo, PhotoState, Status};
use offers::changes::Changes;
use offers::due::DueOffers;
use offers::read::shard_of;
use offers::write::{Expected, Verb, by_api};
use prost::Message as _;
use store::Tx;
use wire::offers::{Actor, actor};
use wire::photos::PhotoRequest;

use crate::simulation::waiting;
use crate::support::{World, seller};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

async fn requests(world: &World, offer: &Offer) -> Vec<PhotoRequest> {
    let shard = shard_of(OfferId::from_raw(offer.id).unwrap());
    let sent = waiting(&world.offers.store, shard, model::topics::PHOTOS_REQUESTS).await;
    sent.iter().map(|payload| PhotoRequest::decode(payload.as_slice()).unwrap()).collect()
}

/// What the photo service answers.
pub(crate) async fn answer(world: &World, id: i64, photos: Vec<Photo>) {
    let id = OfferId::from_raw(id).unwrap();
    let actor = Actor { kind: actor::Kind::Photos.into(), ..Actor::default() };
    let answer = async |tx: &mut Tx| {
        let before = offers::read::require(tx, id).await?;
        let after = Offer { photos: photos.clone(), ..before.clone() };
        let mut changes = Changes::new(&world.offers, world.clock.now());
        changes.save(tx, Some(&before), after, &actor)?;
        changes.finish(tx).await
    };
    world.offers.store.transact(shard_of(id), answer).await.unwrap();
}

fn photo(url: &str, state: PhotoState) -> Photo {
    Photo { url: url.to_owned(), state: state.into(), ..Photo::default() }
}

/// An offer with two photos, of which one fails.
async fn half_shown(world: &World) -> Offer {
    let mut content = crate::support::content("A", 1);
    content.photo_urls = vec!["a".to_owned(), "b".to_owned()];
    let offer = world.offers.create(&seller(1), content, &by_api("test", "create")).await.unwrap();
    world.rest().await;
    answer(world, offer.id, vec![photo("a", PhotoState::Ready), photo("b", PhotoState::Failed)]).await;
    world.rest().await;
    offer
}

#[tokio::test(start_paused = true)]
async fn failed_photos_are_asked_for_four_times_more() {
    let world = World::with_builtins().await;
    let offer = half_shown(&world).await;
    assert_eq!(requests(&world, &offer).await.len(), 1, "the offer's own");
    for (times, wait) in [HOUR, 6 * HOUR, DAY, 7 * DAY].into_iter().enumerate() {
        world.pass(wait.saturating_sub(Duration::from_secs(1))).await;
        world.rest().await;
        assert_eq!(requests(&world, &offer).await.len(), times + 1, "not yet");
        world.pass(Duration::from_secs(1)).await;
        world.rest().await;
        let sent = requests(&world, &offer).await;
        assert_eq!(sent.len(), times + 2);
        assert_eq!(sent.last().unwrap().urls, ["b"], "only the one that failed");
    }
    let mut ids: Vec<_> = requests(&world, &offer).await.into_iter().map(|sent| sent.request_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "no two requests can be taken for each other");
    world.pass(60 * DAY).await;
    world.rest().await;
    assert_eq!((requests(&world, &offer).await.len(), world.rows("timers").await), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_photo_that_came_after_all_leaves_nothing_behind() {
    let world = World::with_builtins().await;
    let offer = half_shown(&world).await;
    world.pass(HOUR).await;
    world.rest().await;
    assert_eq!(world.rows("pairs").await, 1);
    answer(&world, offer.id, vec![photo("a", PhotoState::Ready), photo("b", PhotoState::Ready)]).await;
    world.rest().await;
    assert_eq!(
        (world.rows("pairs").await, world.rows("timers").await, world.rows("counts").await),
        (0, 0, 0)
    );
}

async fn time_passes(world: &World, time: Duration) {
    world.pass(time).await;
    run_due(&DueOffers(world.offers.clone()), &World::shards(), world.clock.now()).await.unwrap();
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn an_offer_expires_once_after_180_days_unless_it_is_prolonged_or_expiry_is_paused() {
    let world = World::with_builtins().await;
    let (one, other) = (world.offer(&seller(1), "A", 1).await, world.offer(&seller(2), "B", 1).await);
    time_passes(&world, 179 * DAY).await;
    assert_eq!(world.read(one.id).await.status(), Status::Active);
    let id = OfferId::from_raw(other.id).unwrap();
    world.offers.act(id, Verb::Prolong, Expected::Any, &by_api("test", "prolong")).await.unwrap();
    world.stages.pause("expire").await.unwrap();
    time_passes(&world, 2 * DAY).await;
    assert_eq!(world.read(one.id).await.status(), Status::Active, "expiry is paused");
    world.stages.resume("expire").await.unwrap();
    time_passes(&world, HOUR).await;
    let expired = world.read(one.id).await;
    assert_eq!((expired.status(), expired.version), (Status::Expired, 2));
    assert_eq!(world.read(other.id).await.status(), Status::Active, "it was prolonged");
    time_passes(&world, 30 * DAY).await;
    assert_eq!(world.read(one.id).await.version, 2, "once");
    let events = world.offers.events(OfferId::from_raw(one.id).unwrap(), None, 9).await.unwrap();
    let actor = events[0].row.actor.clone().unwrap();
    assert_eq!((actor.kind(), actor.who.as_str()), (actor::Kind::Stage, "expire"));
    time_passes(&world, 150 * DAY).await;
    assert_eq!(world.read(other.id).await.status(), Status::Expired);
}
