//! The configuration that comes with Dvor: cards of offers from their changes.

use prost::Message as _;
use serde_json::json;
use topics::Message;
use wire::model::{Condition, Content, Location, Money, Offer, Photo, PhotoState, Status};
use wire::offers::OfferChange;

use crate::world::World;

fn change(version: i64, status: Status) -> Message {
    let offer = Offer {
        id: 77,
        seller_id: "north-tools".to_owned(),
        version,
        status: status as i32,
        content: Some(Content {
            category_id: "lamps".to_owned(),
            title: "Лампа настольная".to_owned(),
            price: Some(Money { minor: 1_299_050, currency: "RUB".to_owned() }),
            condition: Condition::Used as i32,
            location: Some(Location { name: "Тверь".to_owned(), ..Location::default() }),
            ..Content::default()
        }),
        photos: vec![
            Photo {
                state: PhotoState::Ready as i32,
                hash: "ab".to_owned(),
                width: 40,
                height: 30,
                ..Photo::default()
            },
            Photo { state: PhotoState::Waiting as i32, ..Photo::default() },
        ],
        ..Offer::default()
    };
    Message::new(
        "offer-77",
        OfferChange { offer: Some(offer), version, ..OfferChange::default() }.encode_to_vec(),
    )
}

#[tokio::test]
async fn an_offers_cards_follow_its_changes_and_go_with_it() {
    let world = World::shipped().await;
    world.topics.ensure("offers.changes", 4).await.unwrap();
    world.start();
    let send = async |message| drop(world.topics.publish("offers.changes", vec![message]).await.unwrap());
    send(change(3, Status::Active)).await;
    let card = |price: &str, condition: &str, status: &str, word: &str, version: i64| {
        json!({"offer/card": {
            "seller_id": "north-tools", "title": "Лампа настольная", "category_id": "lamps", "place": "Тверь",
            "price": {"amount": "12990.50", "currency": "RUB", "text": price},
            "condition": {"code": "used", "text": condition}, "status": {"code": status, "text": word},
            "photos": [{"hash": "ab", "width": 40, "height": 30}], "version": version
        }})
        .to_string()
    };
    world.becomes("/offer/card/offer-77/ru", &card("12 990,50 ₽", "б/у", "active", "в продаже", 3)).await;
    world.becomes("/offer/card/offer-77/en", &card("12 990.50 ₽", "used", "active", "on sale", 3)).await;
    let both = world.get("/offer/offer-77/en").await.is(200);
    assert!(both["offer/card_pb"].is_string(), "{both}");

    send(change(2, Status::Banned)).await;
    send(change(4, Status::Inactive)).await;
    world.becomes("/offer/card/offer-77/en", &card("12 990.50 ₽", "used", "inactive", "withdrawn", 4)).await;
    send(change(5, Status::Deleted)).await;
    world.becomes("/offer/offer-77/ru", "404").await;
    world.becomes("/offer/offer-77/en", "404").await;
    // A late change does not bring it back.
    send(change(4, Status::Active)).await;
    send(Message::new(
        "offer-78",
        OfferChange { version: 1, offer: Some(Offer::default()), ..OfferChange::default() }.encode_to_vec(),
    ))
    .await;
    world
        .until(|| async {
            if world.get("/offer/offer-78/ru").await.status == 200 { Ok(()) } else { Err("78".to_owned()) }
        })
        .await;
    world.get("/offer/offer-77/ru").await.is(404);
    world.letters(0, 0).await;
}
