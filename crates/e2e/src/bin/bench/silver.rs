//! Shipments → silver saved, with 0 %, 10 % and 100 % of the offers changed, beside decoding the same messages alone and
//! beside writing the same rows with the bare engine; and from a Kafka topic, beside a job of Kafka Streams on the same one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use catalog::Catalog;
use e2e::bench::{self, Figure};
use e2e::load::OfferRows;
use e2e::load::bare_fjall::BareFjall;
use e2e::load::shipments::{BUSINESSES, OFFERS, batch, from_kafka, offer};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kit::{Clock, Timestamp};
use prost::Message as _;
use silver::Silver;
use silver::consume::Shipments;
use spine::Base;
use store::{Options, Schema, Store, Tx};
use topics::Record;
use topics::consume::Handler as _;
use united::United;
use wire::united::UnitedOffersBatch;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value_t = 3)]
    turns: usize,
    #[arg(long, default_value_t = 200)]
    messages: u32,
    /// Messages in the Kafka topic
    #[arg(long, default_value_t = 800)]
    kafka_messages: u32,
}

/// The record and two queues.
const ROWS: usize = 3;

struct Bench {
    store: Store,
    handler: Shipments,
    bare: Arc<BareFjall>,
    messages: u32,
    edition: i64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let tables = [united::tables(), silver::tables(), spine::tables()].concat();
    let url = format!("embedded:{}", folder.path().join("ours").display());
    let store = Store::open(&[url], Schema::new(tables), &Options::default()).await?;
    let united = United::new(&Base::alone(store.clone(), Clock::system()), Catalog::shipped());
    let bare = Arc::new(BareFjall::open(&folder.path().join("bare"))?);
    let handler = Shipments(Silver::new(united));
    let mut bench = Bench { store, handler, bare, messages: arguments.messages, edition: 1 };
    bench.import(&bench.records(1, 100)).await?;
    let offers = f64::from(bench.messages * OFFERS);
    let mut decoded = 0.0_f64;
    let mut best = [(0.0_f64, 0.0_f64); 3];
    for _ in 0..arguments.turns {
        decoded = decoded.max(offers / decode(&bench.records(bench.edition, 0))?.as_secs_f64());
        for (place, percent) in [0, 10, 100].into_iter().enumerate() {
            let edition = bench.edition + i64::from(percent > 0);
            let records = bench.records(edition, percent);
            let took = bench.import(&records).await?;
            bench.edition = edition;
            let reference = if percent > 0 { bench.write(percent).await? } else { took };
            let rates = (offers / took.as_secs_f64(), offers / reference.as_secs_f64());
            best[place] = (best[place].0.max(rates.0), best[place].1.max(rates.1));
        }
    }
    let kafka = from_kafka(arguments.kafka_messages).await?;
    let figure = |name: &str, rate: f64, wanted| Figure::new(name, "offers/s", rate, wanted);
    let [(none, _), (some, some_bare), (all, all_bare)] = best;
    let figures = [
        figure("decoding alone", decoded, ""),
        figure("0 % changed, beside decoding", none, "≥ 0.15").beside(decoded),
        figure("10 % changed, beside the bare rows of the changed", some, "").beside(some_bare),
        figure("10 % changed, beside decoding", some, "").beside(decoded),
        figure("100 % changed, beside the bare rows", all, "≥ 0.6").beside(all_bare),
        figure("all new from Kafka, beside Kafka Streams exactly once", kafka.ours, "≥ 2")
            .beside(kafka.exactly_once),
        figure("the same beside its default, at least once", kafka.ours, "").beside(kafka.at_least_once),
    ];
    bench::print(&format!("shipments → silver, {} messages of {OFFERS} offers", bench.messages), &figures);
    bench::save("silver", &figures)
}

impl Bench {
    /// The messages of an edition in which this share of the offers, in percent, has changed since the last one.
    fn records(&self, edition: i64, percent: u32) -> Vec<Record> {
        let record = |message: u32| {
            let business = message % BUSINESSES + 1;
            let payload = batch(message, |number| {
                let changed = number % 100 < percent;
                if changed || percent == 0 { edition } else { edition - 1 }
            });
            let (partition, offset, key) = (business, i64::from(message), business.to_string().into_bytes());
            Record {
                partition,
                offset,
                key,
                payload: payload.into(),
                headers: Vec::new(),
                timestamp: Timestamp(0),
            }
        };
        (0..self.messages).map(record).collect()
    }

    /// As the consumer does it: decoded outside, one transaction per message, businesses side by side.
    async fn import(&self, records: &[Record]) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let businesses = (1..=BUSINESSES).map(|business| async move {
            for record in records.iter().filter(|record| record.partition == business) {
                let (shard, message) = self.handler.decode(record).map_err(|reason| anyhow!(reason.0))?;
                let body = async |tx: &mut Tx| self.handler.apply(tx, vec![message]).await;
                self.store.transact(shard, body).await.map_err(|failure| anyhow!("{failure}"))?;
            }
            Ok::<_, anyhow::Error>(())
        });
        stream::iter(businesses).buffer_unordered(BUSINESSES as usize).try_collect::<()>().await?;
        Ok(began.elapsed())
    }

    /// The rows of the changed offers, as one durable batch per message.
    async fn write(&self, percent: u32) -> anyhow::Result<Duration> {
        let changed = (OFFERS * percent / 100) as usize;
        let content = offer(1, 1, 1).encode_to_vec();
        let began = Instant::now();
        let businesses = (1..=BUSINESSES).map(|business| {
            let (bare, content) = (self.bare.clone(), content.clone());
            async move {
                for message in (0..self.messages).filter(|message| message % BUSINESSES + 1 == business) {
                    let row = |number: usize| OfferRows {
                        content: content.clone(),
                        ..OfferRows::new(
                            u64::from(business),
                            u64::from(message * OFFERS) + number as u64,
                            ROWS,
                        )
                    };
                    bare.write(&(0..changed).map(row).collect::<Vec<_>>()).await?;
                }
                Ok::<_, anyhow::Error>(())
            }
        });
        stream::iter(businesses).buffer_unordered(BUSINESSES as usize).try_collect::<()>().await?;
        Ok(began.elapsed())
    }
}

fn decode(records: &[Record]) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut offers = 0;
    for record in records {
        offers += UnitedOffersBatch::decode(record.payload.clone())?.offer.len();
    }
    (offers == records.len() * OFFERS as usize).then_some(()).context("every offer is decoded")?;
    Ok(began.elapsed())
}
