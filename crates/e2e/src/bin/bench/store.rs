//! Engine figures: single and batch transactions, one shard alone, reads, scans, a queue; each beside the bare engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use e2e::bench::{self, Figure};
use e2e::load::bare_fjall::BareFjall;
use e2e::load::bare_postgres::BarePostgres;
use e2e::load::{self, Bare, CONTENT, OfferRows, QUEUE, seller_name};
use rand::RngExt as _;
use store::{Error, Options, Range, Read as _, Shard, Store};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long each figure is measured.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Rows that pass through the queue.
    #[arg(long, default_value_t = 1_000_000)]
    queue_rows: u64,
}

const TASKS: usize = 64;
const SELLERS: u64 = 5_000;
/// The seller whose offers are read back, and how many there are.
const READ_SELLER: u64 = 999_999;
const READ_OFFERS: u64 = 200_000;

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    println!(
        "rows: content 1,000 bytes, others 24 bytes; {SELLERS} sellers; reads among {READ_OFFERS} offers"
    );
    let mut all = embedded(arguments).await?;
    bench::print("embedded engine, reference: bare fjall with group commit", &all);
    match std::env::var("DVOR_TEST_POSTGRES") {
        Ok(server) => {
            let figures = postgres(arguments, &server).await?;
            bench::print(
                "PostgreSQL engine, reference: bare pipelined statements on as many connections",
                &figures,
            );
            all.extend(figures);
        }
        Err(_) => println!("\nPostgreSQL was not measured: DVOR_TEST_POSTGRES names no server"),
    }
    bench::save("store", &all)
}

async fn embedded(arguments: &Arguments) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let url = format!("embedded:{}", folder.path().join("ours").display());
    let store = load::open(&url, &options).await?;
    let bare = Arc::new(Bare::Fjall(BareFjall::open(&folder.path().join("bare"))?));
    measure(&store, &bare, arguments, 1).await
}

async fn postgres(arguments: &Arguments, server: &str) -> anyhow::Result<Vec<Figure>> {
    let database = load::Database::create(server).await?;
    let store = load::open(&database.url, &Options::default()).await?;
    let bare = Arc::new(Bare::Postgres(BarePostgres::open(&database.url).await?));
    // A tenth of the queue: a server's round trips are what it costs, not tombstones.
    let mut figures = measure(&store, &bare, arguments, 10).await?;
    for figure in &mut figures {
        // The absolute numbers are asked of the embedded engine only.
        figure.wanted = if figure.ratio.is_some() { "≥ 0.7" } else { "-" };
    }
    store.engine().close().await?;
    drop((store, bare));
    database.remove().await?;
    Ok(figures)
}

async fn measure(
    store: &Store,
    bare: &Arc<Bare>,
    arguments: &Arguments,
    smaller: u64,
) -> anyhow::Result<Vec<Figure>> {
    let time = Duration::from_secs(arguments.seconds);
    let mut figures = vec![single(store, bare, time).await?];
    figures.push(batch(store, bare, time).await?);
    figures.push(one_shard(store, time).await?);
    fill(store, bare).await?;
    figures.push(read(store, bare, time).await?);
    figures.push(scan(store, bare, time).await?);
    figures.push(queue(store, arguments.queue_rows / smaller).await?);
    Ok(figures)
}

async fn single(store: &Store, bare: &Arc<Bare>, time: Duration) -> anyhow::Result<Figure> {
    let ours = bench::rate(TASKS, time, {
        let store = store.clone();
        move |number| {
            let store = store.clone();
            async move {
                let offer = OfferRows::new(number % SELLERS, number, 10);
                Ok(store.transact(offer.shard(), async |tx| offer.put(tx)).await?)
            }
        }
    })
    .await?;
    let reference = bench::rate(TASKS, time, {
        let bare = bare.clone();
        move |number| {
            let bare = bare.clone();
            async move { bare.write(&[OfferRows::new(number % SELLERS, number, 10)]).await }
        }
    })
    .await?;
    let figure = Figure::new("single, 10 rows, 64 tasks", "tx/s", ours.per_second, "≥ 5,000 and ≥ 0.7");
    Ok(figure.beside(reference.per_second).with_times(&ours))
}

async fn batch(store: &Store, bare: &Arc<Bare>, time: Duration) -> anyhow::Result<Figure> {
    let offers = |number: u64| -> Vec<_> {
        (0..100).map(|place| OfferRows::new(number % SELLERS, number * 100 + place, 6)).collect()
    };
    let ours = bench::rate(16, time, {
        let store = store.clone();
        move |number| {
            let (store, offers) = (store.clone(), offers(number));
            async move {
                let put = async |tx: &mut store::Tx| offers.iter().try_for_each(|offer| offer.put(tx));
                Ok(store.transact(offers[0].shard(), put).await?)
            }
        }
    })
    .await?;
    let reference = bench::rate(16, time, {
        let bare = bare.clone();
        move |number| {
            let (bare, offers) = (bare.clone(), offers(number));
            async move { bare.write(&offers).await }
        }
    })
    .await?;
    let figure =
        Figure::new("batches of 100, 6 rows each", "offers/s", ours.per_second * 100.0, "≥ 20,000 and ≥ 0.7");
    Ok(figure.beside(reference.per_second * 100.0).with_times(&ours))
}

async fn one_shard(store: &Store, time: Duration) -> anyhow::Result<Figure> {
    let ours = bench::rate(TASKS, time, {
        let store = store.clone();
        move |number| {
            let store = store.clone();
            async move {
                let offer = OfferRows::new(1, number, 10);
                let body = async |tx: &mut store::Tx| {
                    // A real transaction looks before it writes.
                    tx.get(&CONTENT, (&offer.seller, offer.offer)).await?;
                    offer.put(tx)
                };
                Ok(store.transact(offer.shard(), body).await?)
            }
        }
    })
    .await?;
    Ok(Figure::new("one shard alone, read + 10 rows", "tx/s", ours.per_second, "≥ 2,000").with_times(&ours))
}

async fn fill(store: &Store, bare: &Bare) -> anyhow::Result<()> {
    let shard = Shard::of(&seller_name(READ_SELLER));
    for start in (0..READ_OFFERS).step_by(500) {
        let offers: Vec<_> =
            (start..start + 500).map(|offer| OfferRows::new(READ_SELLER, offer, 1)).collect();
        let put = async |tx: &mut store::Tx| offers.iter().try_for_each(|offer| offer.put(tx));
        store.transact(shard, put).await?;
        bare.write(&offers).await?;
    }
    Ok(())
}

async fn read(store: &Store, bare: &Arc<Bare>, time: Duration) -> anyhow::Result<Figure> {
    let seller = seller_name(READ_SELLER);
    let shard = Shard::of(&seller);
    let ours = async || {
        let (store, seller) = (store.clone(), seller.clone());
        bench::rate(TASKS, time / 2, move |_| {
            let (store, seller) = (store.clone(), seller.clone());
            async move {
                let offer = rand::rng().random_range(0..READ_OFFERS) as i64;
                let found = store.get(&CONTENT, shard, (&seller, offer)).await?;
                anyhow::ensure!(found.is_some(), "offer {offer} is gone");
                tokio::task::consume_budget().await;
                Ok(())
            }
        })
        .await
    };
    let reference = async || {
        let (bare, seller) = (bare.clone(), seller.clone());
        bench::rate(TASKS, time / 2, move |_| {
            let (bare, seller) = (bare.clone(), seller.clone());
            async move {
                let offer = rand::rng().random_range(0..READ_OFFERS) as i64;
                anyhow::ensure!(bare.get(&seller, offer).await? > 0, "offer {offer} is gone");
                tokio::task::consume_budget().await;
                Ok(())
            }
        })
        .await
    };
    let (ours, reference) = bench::by_turns(bench::TURNS, ours, reference).await?;
    let figure = Figure::new("read one offer", "reads/s", ours.per_second, "≥ 0.7");
    Ok(figure.beside(reference.per_second).with_times(&ours))
}

async fn scan(store: &Store, bare: &Arc<Bare>, time: Duration) -> anyhow::Result<Figure> {
    let seller = seller_name(READ_SELLER);
    let shard = Shard::of(&seller);
    let ours = async || {
        let (store, seller) = (store.clone(), seller.clone());
        bench::rate(TASKS, time / 2, move |_| {
            let (store, seller) = (store.clone(), seller.clone());
            async move {
                let from = rand::rng().random_range(0..READ_OFFERS - 50) as i64;
                let range = Range::prefix((&seller,), 50)?.from((&seller, from))?;
                let found = store.snapshot(shard).await?.scan(&CONTENT, range).await?;
                anyhow::ensure!(found.len() == 50, "{} rows", found.len());
                tokio::task::consume_budget().await;
                Ok(())
            }
        })
        .await
    };
    let reference = async || {
        let (bare, seller) = (bare.clone(), seller.clone());
        bench::rate(TASKS, time / 2, move |_| {
            let (bare, seller) = (bare.clone(), seller.clone());
            async move {
                let from = rand::rng().random_range(0..READ_OFFERS - 50) as i64;
                anyhow::ensure!(bare.scan(&seller, from, 50).await? >= 50_000, "a short page");
                tokio::task::consume_budget().await;
                Ok(())
            }
        })
        .await
    };
    let (ours, reference) = bench::by_turns(bench::TURNS, ours, reference).await?;
    let figure = Figure::new("scan a page of 50 offers", "pages/s", ours.per_second, "≥ 0.7");
    Ok(figure.beside(reference.per_second).with_times(&ours))
}

/// Appends at one end and takes at the head, keeping a head cursor; the rate at the end beside that at the begin.
async fn queue(store: &Store, rows: u64) -> anyhow::Result<Figure> {
    const STEP: u64 = 100;
    let shards = 8;
    let steps = rows / STEP / shards;
    let runners = (0..shards).map(|shard| {
        let store = store.clone();
        tokio::spawn(async move {
            // The head runs ten steps behind, so that what is taken has been on disk before.
            let (mut head, lag, shard) = (-1_i64, 10, Shard::wrapping(shard));
            queue_step(&store, shard, 0, STEP * lag, -1, 0).await?;
            let mut marks = vec![Instant::now()];
            for step in 0..steps {
                head = queue_step(&store, shard, (step + lag) * STEP, STEP, head, STEP).await?;
                if (step + 1) % (steps / 10).max(1) == 0 {
                    marks.push(Instant::now());
                }
            }
            Ok::<_, anyhow::Error>(marks)
        })
    });
    let mut all_marks = Vec::new();
    for runner in runners.collect::<Vec<_>>() {
        all_marks.push(runner.await??);
    }
    let tenth = |index: usize| -> f64 {
        let seconds: f64 =
            all_marks.iter().map(|marks| marks[index + 1].duration_since(marks[index]).as_secs_f64()).sum();
        rows as f64 / 10.0 / (seconds / shards as f64)
    };
    let first = f64::midpoint(tenth(0), tenth(1));
    let last = f64::midpoint(tenth(8), tenth(9));
    let figure =
        Figure::new(format!("queue, last fifth of {rows} rows"), "rows/s", last, "flat: ≥ 0.7 of the first");
    Ok(figure.beside(first))
}

async fn queue_step(
    store: &Store,
    shard: Shard,
    first: u64,
    count: u64,
    head: i64,
    take: u64,
) -> Result<i64, Error> {
    store
        .transact(shard, async |tx| {
            for number in first..first + count {
                tx.put(&QUEUE, (number as i64,), &vec![7; 100])?;
            }
            let taken = tx.scan(&QUEUE, Range::all(take as usize).after((head,))?).await?;
            for (key, _) in &taken {
                tx.delete(&QUEUE, key)?;
            }
            Ok(taken.last().map_or(head, |(key, _)| key.0))
        })
        .await
}
