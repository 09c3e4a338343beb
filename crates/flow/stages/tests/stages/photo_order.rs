//! The order of photos is a field of its own, which saves of the seller's urls leave alone.

use model::{Content, Offer, OfferId, Photo, PhotoState, photo_order};
use offers::write::{Expected, by_api};

use crate::builtin::answer;
use crate::support::{World, content, seller};

fn photo(url: &str, sharpness: u32) -> Photo {
    Photo {
        url: url.to_owned(),
        state: PhotoState::Ready.into(),
        hash: url.repeat(64),
        width: 1_600,
        height: 1_200,
        sharpness,
        exposure: 900,
        ..Photo::default()
    }
}

fn shown(offer: &Offer) -> String {
    let urls: Vec<_> = photo_order::shown(offer).into_iter().map(|photo| photo.url.clone()).collect();
    urls.join(" ")
}

fn with_photos(urls: &[&str]) -> Content {
    Content { photo_urls: urls.iter().map(ToString::to_string).collect(), ..content("A", 1) }
}

/// An offer with a blurred photo, which is the seller's first, and a sharp one.
async fn offered(world: &World) -> Offer {
    let content = with_photos(&["a", "b"]);
    let offer = world.offers.create(&seller(1), content, &by_api("test", "create")).await.unwrap();
    world.rest().await;
    assert_eq!(shown(&world.read(offer.id).await), "a b", "nothing is known of them yet");
    answer(world, offer.id, vec![photo("a", 200), photo("b", 900)]).await;
    world.rest().await;
    offer
}

async fn edit(world: &World, id: i64, content: Content) {
    let (id, actor) = (OfferId::from_raw(id).unwrap(), by_api("test", "edit"));
    world.offers.edit(id, Expected::Any, &actor, |_| Ok(content.clone())).await.unwrap();
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn the_best_photo_is_shown_first_and_stays_so_when_the_seller_saves() {
    let world = World::with_builtins().await;
    let offer = offered(&world).await;
    let ordered = world.read(offer.id).await;
    assert_eq!((shown(&ordered).as_str(), ordered.version), ("b a", 3));
    let urls: Vec<_> = ordered.photos.iter().map(|photo| photo.url.as_str()).collect();
    assert_eq!(urls, ["a", "b"], "the seller's own order is as it was");
    let events = world.offers.events(OfferId::from_raw(offer.id).unwrap(), None, 9).await.unwrap();
    assert_eq!(
        (events[0].row.fields[0].path.as_str(), events[0].row.actor.clone().unwrap().who.as_str()),
        ("photo_order", "photo-order")
    );
    edit(&world, offer.id, Content { title: "B".to_owned(), ..with_photos(&["a", "b"]) }).await;
    let edited = world.read(offer.id).await;
    assert_eq!((shown(&edited).as_str(), edited.version), ("b a", 4), "one change, the seller's");
    assert_eq!((world.rows("pairs").await, world.rows("changed").await), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn photos_that_come_and_go_are_put_in_order_again() {
    let world = World::with_builtins().await;
    let offer = offered(&world).await;
    edit(&world, offer.id, with_photos(&["c", "a", "b"])).await;
    assert_eq!(shown(&world.read(offer.id).await), "b a c", "a photo on its way comes last");
    answer(&world, offer.id, vec![photo("c", 600), photo("a", 200), photo("b", 900)]).await;
    world.rest().await;
    assert_eq!(shown(&world.read(offer.id).await), "b c a");
    edit(&world, offer.id, with_photos(&["a"])).await;
    let one = world.read(offer.id).await;
    assert_eq!((shown(&one).as_str(), one.photo_order.len()), ("a", 0), "nothing is left of the order");
}
