//! A batch costs as many round trips as a single message.

use model::{Content, Origin, Status};
use prost::Message as _;
use testing::{Counted, apply, record, trips};
use topics::Record;
use topics::consume::Handler;
use united::United;
use united::moves::{Moves, Requests};
use united::receive::FollowedParts;
use united::write::{ServiceWrite, Source};
use wire::offers::FollowedOffers;
use wire::united::r#move::Kind;
use wire::united::{Colour, MigrationRequest, Move, MovedOffer, OfferRow, Part, ServicePart};

use crate::world::{BUSINESS, World, said};

const OTHER: u32 = 8;
const MESSAGES: i64 = 30;

struct Counter {
    united: United,
    counted: Counted,
}

impl Counter {
    fn over(world: &World) -> Self {
        let (counted, store) = Counted::over(&world.united.store);
        Self { united: United { store, ..world.united.clone() }, counted }
    }

    /// The first message alone costs what all the others cost together.
    async fn check<H: Handler>(&self, handler: &H, records: &[Record]) {
        let (store, counted) = (&self.united.store, &self.counted);
        let one = trips(store, counted, handler, &records[..1]).await;
        let many = trips(store, counted, handler, &records[1..]).await;
        assert_eq!(one, many);
    }
}

fn records(message: impl Fn(i64) -> Vec<u8>) -> Vec<Record> {
    (0..MESSAGES).map(|number| record(number, BUSINESS.to_string(), message(number))).collect()
}

fn sku(number: i64) -> String {
    format!("s{number}")
}

fn request(number: i64, source_business_id: u32, target_business_id: u32) -> MigrationRequest {
    let request_id = format!("r{number}");
    MigrationRequest { request_id, source_business_id, target_business_id, shop_sku: sku(number) }
}

fn moved(kind: Kind) -> Vec<u8> {
    Move { kind: Some(kind) }.encode_to_vec()
}

#[tokio::test]
async fn parts_of_followed_sellers() {
    let world = World::new();
    world.map(1, Colour::Blue, 1, false).await;
    let counter = Counter::over(&world);
    let message = |number: i64| {
        let origin = Origin { namespace: "default".into(), external_id: sku(number), ..Origin::default() };
        let offer = model::Offer {
            id: (number + 1) << 20,
            version: 1,
            origin: Some(origin),
            status: Status::Active.into(),
            content: Some(Content { title: "Диван".into(), ..Content::default() }),
            ..model::Offer::default()
        };
        FollowedOffers {
            seller_id: "s".into(),
            follower: united::shops::follower(BUSINESS, 1),
            epoch: 1,
            offer: vec![offer],
            ..FollowedOffers::default()
        }
        .encode_to_vec()
    };
    counter.check(&FollowedParts(counter.united.clone()), &records(message)).await;
}

#[tokio::test]
async fn requests_questions_and_answers_of_migrations() {
    let world = World::new();
    for number in 0..MESSAGES {
        let data = said(1, 100, "a", 1);
        let write =
            ServiceWrite { shop_sku: sku(number), shop: 1, source: Source::Caller, removed: false, data };
        world.write(vec![write]).await;
    }
    let counter = Counter::over(&world);
    let requests = records(|number| request(number, OTHER, BUSINESS).encode_to_vec());
    counter.check(&Requests(counter.united.clone()), &requests).await;

    let moves = Moves(counter.united.clone());
    let part = Part { data: Some(said(9, 200, "b", 1)), version: 5, ..Part::default() };
    let answers = records(|number| {
        let offer = OfferRow { services: [(2, part.clone())].into(), ..OfferRow::default() };
        let request = Some(request(number, OTHER, BUSINESS));
        moved(Kind::Answer(MovedOffer { request, offer: Some(offer), ..MovedOffer::default() }))
    });
    counter.check(&moves, &answers).await;

    let forwarded = records(|number| {
        moved(Kind::Forwarded(ServicePart {
            business_id: BUSINESS,
            shop_sku: sku(number),
            shop_id: 2,
            offer_version: 9,
            data: Some(said(10, 300, "c", 1)),
            ..ServicePart::default()
        }))
    });
    counter.check(&moves, &forwarded).await;

    let questions = records(|number| moved(Kind::Question(request(number, BUSINESS, OTHER))));
    counter.check(&moves, &questions).await;
    let taken = records(|number| moved(Kind::Taken(request(number, BUSINESS, OTHER))));
    counter.check(&moves, &taken).await;
    // Applied again, nothing moves twice.
    apply(&counter.united.store, &moves, &questions).await.unwrap();
}
