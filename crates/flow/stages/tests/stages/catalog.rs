//! A new version of the catalog moves the offers of what it changed, and no others.

use std::time::Duration;

use catalog::Catalog;
use kit::Clock;
use model::{Attribute, Content, Offer, OfferId, Value, value::Kind};
use offers::tables::{CONTENT, OFFER};
use offers::write::by_api;
use store::{Encode as _, Read as _, Store};

use crate::support::{BEGINNING, World, built_in, content, offers_on, schema, seller};

fn described(category: &str, attributes: Vec<Attribute>) -> Content {
    Content {
        category_id: category.to_owned(),
        catalog_version: 1,
        attributes,
        ..content(&format!("Of {category}"), 5)
    }
}

/// A process with this version of the catalog, after its walks.
async fn with_version(store: &Store, clock: &Clock, version: u32) -> World {
    let catalog = Catalog::shipped_version(version).unwrap();
    let world = World::of(offers_on(store.clone(), clock.clone(), catalog), built_in).await;
    world.pass(Duration::from_secs(20)).await;
    world.rest().await;
    world.stages.maintain_once().await.unwrap();
    world
}

async fn create(world: &World, content: Content) -> Offer {
    world.offers.create(&seller(1), content, &by_api("test", "create")).await.unwrap()
}

async fn bytes(world: &World, offer: &Offer) -> Vec<u8> {
    let shard = offers::read::shard_of(OfferId::from_raw(offer.id).unwrap());
    let snapshot = world.offers.store.snapshot(shard).await.unwrap();
    let key = (offer.id, CONTENT).encode().unwrap();
    let rows = snapshot.get_many_raw(snapshot.id(&OFFER).unwrap(), vec![key]).await.unwrap();
    rows[0].clone().unwrap().to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_new_version_moves_what_it_changed_and_never_back() {
    let (store, clock) = (Store::memory(schema()), Clock::manual(BEGINNING));
    let first = with_version(&store, &clock, 1).await;
    let pager = create(&first, described("pagers", Vec::new())).await;
    let maroon = Attribute {
        id: "color".to_owned(),
        values: vec![Value { kind: Some(Kind::Option("maroon".to_owned())) }],
        ..Attribute::default()
    };
    let phone = create(&first, described("smartphones", vec![maroon])).await;
    let book = create(&first, described("books", Vec::new())).await;
    first.rest().await;
    let untouched = bytes(&first, &book).await;

    let second = with_version(&store, &clock, 2).await;
    let moved = second.read(pager.id).await;
    let content = moved.content.clone().unwrap();
    assert_eq!((content.category_id.as_str(), content.catalog_version, moved.version), ("phones", 2, 2));
    let phone_now = second.read(phone.id).await;
    let color = phone_now.content.clone().unwrap().attributes.remove(0);
    assert_eq!(color.values[0].kind, Some(Kind::Option("burgundy".to_owned())));
    assert_eq!(bytes(&second, &book).await, untouched, "its category is as it was: not a byte is written");
    let events = second.offers.events(OfferId::from_raw(pager.id).unwrap(), None, 9).await.unwrap();
    let paths: Vec<_> = events[0].row.fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(paths, ["category_id"], "the version of the catalog is no change to be told");

    let back = with_version(&store, &clock, 1).await;
    assert_eq!(back.read(pager.id).await, moved, "a process with the old catalog undoes nothing");
    let entries = back.stages.entries();
    let entry = entries.iter().find(|entry| entry.id == "catalog").unwrap();
    assert_eq!((entry.row.revision, entry.row.walk.unwrap().generation), (2, 2), "nor does it walk");
    let again = with_version(&store, &clock, 2).await;
    assert_eq!((again.read(pager.id).await, again.read(phone.id).await), (moved, phone_now));
    assert_eq!((again.rows("pairs").await, again.rows("changed").await), (0, 0));
}

/// A category whose attributes changed, in an offer that says nothing of them: only the version is noted.
#[tokio::test(start_paused = true)]
async fn a_version_alone_is_noted_in_silence() {
    let (store, clock) = (Store::memory(schema()), Clock::manual(BEGINNING));
    let first = with_version(&store, &clock, 1).await;
    let phone = create(&first, described("smartphones", Vec::new())).await;
    first.rest().await;
    let second = with_version(&store, &clock, 2).await;
    let now = second.read(phone.id).await;
    assert_eq!((now.content.unwrap().catalog_version, now.version), (2, 1));
    let events = second.offers.events(OfferId::from_raw(phone.id).unwrap(), None, 9).await.unwrap();
    assert_eq!(events.len(), 1, "its making, and nothing else");
}
