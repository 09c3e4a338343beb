//! Shipments of united offers, and their way from a Kafka topic: into silver of the embedded store, and through a job of
//! Kafka Streams.

use std::sync::Arc;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use catalog::Catalog;
use kit::{Clock, Shutdown};
use prost::Message as _;
use silver::Silver;
use silver::consume::Shipments;
use silver::convert::Delivered;
use spine::Base;
use store::{Options, Schema, Shard, Store, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record, Topics};
use united::United;
use wire::united::{
    Colour, Offer, OfferContent, OfferIdentifiers, OfferMeta, OriginalSpecification, PartnerContent,
    PreciseDimensions, PreciseWeight, StringListValue, StringValue, UnitedOffer, UnitedOffersBatch,
};

use super::services::variable;
use crate::peers::kafka_streams::{self, Guarantee};

/// Offers of one message.
pub const OFFERS: u32 = 100;
/// Messages of one business follow each other; those of others run beside them.
pub const BUSINESSES: u32 = 8;
/// The basic part and two services.
const PARTS: u32 = 3;
const PARTITIONS: u32 = 8;
const GROUP: &str = "silver";
/// Between two looks at the group's position.
const LOOK: Duration = Duration::from_millis(20);

/// Offers a second from the topic's first message until all effects are committed.
pub struct FromKafka {
    pub ours: f64,
    pub exactly_once: f64,
    pub at_least_once: f64,
}

/// Publishes messages of new offers and lets each read all of them, one after another.
pub async fn from_kafka(messages: u32) -> anyhow::Result<FromKafka> {
    let (brokers, prefix) = (variable("DVOR_TEST_KAFKA")?, format!("bench-{}.", kit::random_id()));
    let folder = tempfile::tempdir()?;
    let tables = [united::tables(), silver::tables(), spine::tables()].concat();
    let url = format!("embedded:{}", folder.path().display());
    let store = Store::open(&[url], Schema::new(tables), &Options::default()).await?;
    let url = format!("kafka://{brokers}/{prefix}");
    let base = Base::alone(store.clone(), Clock::system());
    let topics = Topics::open(&url, store.clone(), base.cluster.clone(), topics::Options::default())?;
    let base = Base { topics, ..base };
    let topics = &base.topics;
    topics.ensure(model::topics::UNITED_OFFERS, PARTITIONS).await?;
    for message in 0..messages {
        let key = business(message).to_string();
        topics.publish(model::topics::UNITED_OFFERS, vec![Message::new(key, batch(message, |_| 1))]).await?;
    }
    let offers = f64::from(messages * OFFERS);
    let ours = offers / consume(&base).await?.as_secs_f64();
    store.engine().close().await?;
    let streams = |guarantee| {
        let (brokers, topic) = (brokers.clone(), format!("{prefix}{}", model::topics::UNITED_OFFERS));
        let parts = u64::from(messages * OFFERS * PARTS);
        let job = move || kafka_streams::seconds(&brokers, &topic, guarantee, u64::from(messages), parts);
        async move { Ok::<_, anyhow::Error>(offers / tokio::task::spawn_blocking(job).await??) }
    };
    let exactly_once = streams(Guarantee::ExactlyOnce).await?;
    let at_least_once = streams(Guarantee::AtLeastOnce).await?;
    Ok(FromKafka { ours, exactly_once, at_least_once })
}

/// The real consumer, from its first message until its position behind the last one is committed.
async fn consume(base: &Base) -> anyhow::Result<Duration> {
    let topics = &base.topics;
    let silver = Silver::new(United::new(base, Catalog::shipped()));
    let began = Arc::new(OnceLock::new());
    let handler = Timed { shipments: Shipments(silver), began: began.clone() };
    let (topics_of_task, shutdown) = (topics.clone(), Shutdown::default());
    let ending = shutdown.clone();
    let running = tokio::spawn(async move {
        topics::consume::run(topics_of_task, model::topics::UNITED_OFFERS, GROUP, handler, ending).await;
    });
    while topics.lag(model::topics::UNITED_OFFERS, GROUP).await?.iter().map(|lag| lag.lag).sum::<i64>() > 0 {
        tokio::time::sleep(LOOK).await;
    }
    let took = began.get().map_or(Duration::ZERO, Instant::elapsed);
    shutdown.call();
    running.await?;
    Ok(took)
}

/// The import, and when its first message came.
struct Timed {
    shipments: Shipments,
    began: Arc<OnceLock<Instant>>,
}

#[async_trait]
impl Handler for Timed {
    type Message = Vec<Delivered>;

    fn decode(&self, record: &Record) -> Result<(Shard, Vec<Delivered>), Undecodable> {
        self.began.get_or_init(Instant::now);
        self.shipments.decode(record)
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Vec<Delivered>>) -> Result<(), Failure> {
        self.shipments.apply(tx, messages).await
    }
}

pub fn business(message: u32) -> u32 {
    message % BUSINESSES + 1
}

/// The payload of a message, whose offers have the version that `version` says.
pub fn batch(message: u32, version: impl Fn(u32) -> i64) -> Vec<u8> {
    let offers =
        (0..OFFERS).map(|number| offer(business(message), message * OFFERS + number, version(number)));
    UnitedOffersBatch { offer: offers.collect() }.encode_to_vec()
}

/// An offer with two shops and what a seller usually says.
pub fn offer(business: u32, number: u32, version: i64) -> UnitedOffer {
    let text = |text: String| Some(StringValue { meta: None, value: Some(text) });
    let part = |shop: Option<u32>| {
        let original = OriginalSpecification {
            name: text(format!("Диван угловой раскладной, модель {number}")),
            description: text("Механизм «еврокнижка», ящик для белья, съёмные чехлы. ".repeat(6)),
            vendor: text("Мебельная фабрика".to_owned()),
            barcode: Some(StringListValue { meta: None, value: vec![format!("46{number:011}")] }),
            weight: Some(PreciseWeight { meta: None, value_mg: Some(30_000_000 + version) }),
            dimensions: Some(PreciseDimensions {
                meta: None,
                length_mkm: Some(2_000_000),
                width_mkm: Some(900_000),
                height_mkm: Some(800_000),
            }),
            ..OriginalSpecification::default()
        };
        let partner = PartnerContent { original: Some(original), original_terms: None };
        Offer {
            identifiers: Some(OfferIdentifiers {
                business_id: Some(business),
                offer_id: Some(format!("sku-{number}")),
                shop_id: shop,
            }),
            meta: Some(OfferMeta {
                version: Some(version),
                rgb: shop.map(|_| Colour::Blue.into()),
                updated_at: None,
            }),
            content: Some(OfferContent { partner: Some(partner), master_data: None }),
            ..Offer::default()
        }
    };
    UnitedOffer { basic: Some(part(None)), service: [1, 2].map(|shop| (shop, part(Some(shop)))).into() }
}
