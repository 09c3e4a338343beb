//! The round trips of a consumer's transaction do not grow with what it applies.

use model::{Offer, OfferId, Photo, PhotoState};
use offers::autoload::{Batches, Decisions};
use offers::follow::Follows;
use offers::moderation::Opinions;
use offers::photos::PhotoResults;
use offers::{Offers, Settings};
use prost::Message as _;
use store::Shard;
use testing::{Counted, record, trips};
use topics::Record;
use topics::consume::Handler;
use wire::feeds::FeedDecision;
use wire::feeds::feed_decision::Word;
use wire::offers::opinion::Verdict;
use wire::offers::{Follow, Opinion};
use wire::photos::PhotoResult;

use crate::feed::{Feed, NAMESPACE, SELLER, records};
use crate::kept::me;
use crate::support::{content, in_memory};

const MANY: usize = 40;

struct World {
    counted: Counted,
    offers: Offers,
}

impl World {
    fn new() -> Self {
        let offers = in_memory(Settings::default());
        let (counted, store) = Counted::over(&offers.store);
        Self { counted, offers: Offers { store, ..offers } }
    }

    async fn create(&self, count: usize) -> Vec<Offer> {
        let mut all = Vec::new();
        for number in 0..count {
            let mut content = content(&format!("phone {number}"), Some(100));
            content.photo_urls = vec![format!("https://example.com/{number}.jpg")];
            all.push(self.offers.create(SELLER, content, &me()).await.unwrap());
        }
        all
    }

    async fn check<H: Handler>(&self, what: &str, handler: &H, records: &[Record]) {
        let one = trips(&self.offers.store, &self.counted, handler, &records[..1]).await;
        let many = trips(&self.offers.store, &self.counted, handler, &records[1..]).await;
        assert!(many <= one + 1 && one <= 16, "{what}: {one} for one, {many} for {}", records.len() - 1);
    }
}

fn printed(offer: &Offer) -> String {
    OfferId::from_raw(offer.id).unwrap().to_string()
}

#[tokio::test]
async fn opinions_share_their_questions() {
    let world = World::new();
    let opinion = |offer: &Offer| Opinion {
        offer_id: printed(offer),
        verdict: Verdict::Ban.into(),
        reasons: vec!["spam".to_owned()],
        timestamp: 5,
        ..Opinion::default()
    };
    let offers = world.create(MANY).await;
    let records: Vec<_> =
        offers.iter().map(|offer| record(0, printed(offer), opinion(offer).encode_to_vec())).collect();
    world.check("opinions", &Opinions(world.offers.clone()), &records).await;
    let banned = world.offers.get(OfferId::from_raw(offers[7].id).unwrap()).await.unwrap();
    assert_eq!(banned.ban_reasons, ["spam"]);
}

#[tokio::test]
async fn photo_results_share_their_questions() {
    let world = World::new();
    let result = |offer: &Offer| PhotoResult {
        request_id: "r".to_owned(),
        offer_id: offer.id,
        seller_id: SELLER.to_owned(),
        photos: vec![Photo {
            url: offer.photos[0].url.clone(),
            state: PhotoState::Ready.into(),
            hash: "00".repeat(32),
            ..Photo::default()
        }],
    };
    let offers = world.create(MANY).await;
    let records: Vec<_> =
        offers.iter().map(|offer| record(0, printed(offer), result(offer).encode_to_vec())).collect();
    world.check("photo results", &PhotoResults(world.offers.clone()), &records).await;
    let ready = world.offers.get(OfferId::from_raw(offers[7].id).unwrap()).await.unwrap();
    assert_eq!(ready.photos[0].state(), PhotoState::Ready);
}

#[tokio::test]
async fn batches_of_a_load_share_their_questions() {
    let world = World::new();
    let feed = Feed::new(&world.offers);
    let batch =
        |number: usize| feed.batch_message(1, number as i64 + 1, records(number * 5..number * 5 + 5, 1));
    let batches: Vec<_> = (0..MANY).map(batch).collect();
    world.check("batches", &Batches(world.offers.clone()), &batches).await;
}

#[tokio::test]
async fn decisions_share_their_questions() {
    let world = World::new();
    let decision = |task: usize| FeedDecision {
        seller_id: SELLER.to_owned(),
        namespace: NAMESPACE.to_owned(),
        task_id: task as i64 + 1,
        word: Word::Confirm.into(),
        ..FeedDecision::default()
    };
    let records: Vec<_> = (0..MANY).map(|task| record(0, SELLER, decision(task).encode_to_vec())).collect();
    world.check("decisions", &Decisions(world.offers.clone()), &records).await;
}

#[tokio::test]
async fn wishes_to_follow_share_their_questions() {
    let world = World::new();
    let names = (0..).map(|number| format!("seller-{number}"));
    let neighbours = names.filter(|name| Shard::of(name) == Shard::of(SELLER));
    let sellers: Vec<_> = neighbours.take(MANY / 2).collect();
    let wish = |number: usize, epoch: i64, gone: bool| Follow {
        seller_id: sellers[number / 2].clone(),
        follower: format!("business-{number}"),
        topic: "united.offers".to_owned(),
        key: number.to_string(),
        epoch,
        gone,
    };
    let records = |epoch: i64, gone: bool| -> Vec<Record> {
        (0..MANY).map(|number| record(0, "", wish(number, epoch, gone).encode_to_vec())).collect()
    };
    // Two followers of each of many sellers come, come again, and go.
    world.check("new followers", &Follows, &records(1, false)).await;
    let followers = world.offers.followers_of(&sellers[7]).await.unwrap();
    assert_eq!(followers, ["business-14", "business-15"]);
    world.check("known followers", &Follows, &records(2, false)).await;
    world.check("followers that go", &Follows, &records(3, true)).await;
    assert!(world.offers.followers_of(&sellers[7]).await.unwrap().is_empty());
}
