//! Loads from topic to durable offers: all new, then the same again; beside the bare engine writing as many rows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use e2e::bench::{self, Figure};
use e2e::load::bare_fjall::BareFjall;
use e2e::load::{OfferRows, offers as load, seller_name};
use kit::{Clock, Shutdown};
use offers::autoload::Batches;
use offers::{Offers, Settings};
use prost::Message as _;
use spine::Base;
use topics::{Message, Topics};
use wire::feeds::feed_message::Kind;
use wire::feeds::{FeedBatch, FeedMessage, FeedRecord};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 200_000)]
    offers: u64,
    #[arg(long, default_value_t = 20)]
    sellers: u64,
}

const BATCH: u64 = 100;
const PARTITIONS: u32 = 16;
const GROUP: &str = "offers";
/// The offer, its feed and ordinal rows and three lists.
const ROWS: usize = 6;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = load::open(&folder.path().join("ours")).await?;
    let catalog = catalog::Catalog::shipped();
    let category = load::easy_category(&catalog);
    let base = Base::alone(store, Clock::system());
    let offers = Offers::new(&base, Settings::default(), catalog);
    let topics = base.topics;
    topics.ensure(model::topics::FEED_OFFERS, PARTITIONS).await?;
    let mut rates = Vec::new();
    for task in 1..=2 {
        publish(&topics, arguments, &category, task).await?;
        rates.push(arguments.offers as f64 / consume(&topics, &offers).await?.as_secs_f64());
    }
    let bare = BareFjall::open(&folder.path().join("bare"))?;
    let reference = bare_rate(Arc::new(bare), arguments).await?;
    let figures = [
        Figure::new("new offers, topic to durable", "offers/s", rates[0], "≥ 0.6; aim 20,000/s")
            .beside(reference),
        Figure::new("unchanged offers", "offers/s", rates[1], "≥ 60,000/s"),
    ];
    let title = format!(
        "autoload of {} offers of {} sellers (events into the outbox included, the relay apart), reference: the \
         bare engine, batches of {BATCH} offers, {ROWS} rows each, without events",
        arguments.offers, arguments.sellers
    );
    bench::print(&title, &figures);
    bench::save("autoload", &figures)
}

async fn publish(topics: &Topics, arguments: &Arguments, category: &str, task: i64) -> anyhow::Result<()> {
    let each = arguments.offers / arguments.sellers;
    for seller in 0..arguments.sellers {
        let seller = seller_name(seller);
        for first in (0..each).step_by(BATCH as usize) {
            let records = (first..(first + BATCH).min(each)).map(|number| record(category, number)).collect();
            let number = (first / BATCH) as i64 + 1;
            let message = FeedMessage {
                seller_id: seller.clone(),
                namespace: "default".to_owned(),
                task_id: task,
                dry_run: false,
                kind: Some(Kind::Batch(FeedBatch { number, records })),
                ..FeedMessage::default()
            };
            let message = Message::new(seller.as_str(), message.encode_to_vec());
            topics.publish(model::topics::FEED_OFFERS, vec![message]).await?;
        }
    }
    Ok(())
}

fn record(category: &str, number: u64) -> FeedRecord {
    let content = load::content(category, number);
    let fingerprint = blake3::hash(&content.encode_to_vec()).as_bytes()[..16].to_vec();
    FeedRecord {
        external_id: format!("sku-{number}"),
        line: number as i64,
        title: content.title.clone(),
        content: Some(content),
        fingerprint,
        ..FeedRecord::default()
    }
}

/// Reads until nothing is left. Positions are committed twice a second, which the time includes.
async fn consume(topics: &Topics, offers: &Offers) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let shutdown = Shutdown::new();
    let running = tokio::spawn({
        let (topics, handler, shutdown) = (topics.clone(), Batches(offers.clone()), shutdown.clone());
        async move { topics::consume::run(topics, model::topics::FEED_OFFERS, GROUP, handler, shutdown).await }
    });
    loop {
        let lag: i64 = topics.lag(model::topics::FEED_OFFERS, GROUP).await?.iter().map(|lag| lag.lag).sum();
        if lag == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let elapsed = began.elapsed();
    shutdown.call();
    running.await?;
    Ok(elapsed)
}

async fn bare_rate(bare: Arc<BareFjall>, arguments: &Arguments) -> anyhow::Result<f64> {
    let (sellers, each) = (arguments.sellers, arguments.offers / arguments.sellers);
    let began = Instant::now();
    let writers: Vec<_> = (0..sellers)
        .map(|seller| {
            let bare = bare.clone();
            tokio::spawn(async move {
                for first in (0..each).step_by(BATCH as usize) {
                    let batch: Vec<_> = (first..(first + BATCH).min(each))
                        .map(|number| OfferRows::new(seller, number, ROWS))
                        .collect();
                    bare.write(&batch).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    Ok((sellers * each) as f64 / began.elapsed().as_secs_f64())
}
