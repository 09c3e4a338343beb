//! A great many snippets that expire at once: none is served late, the sweep gives their space back, and reads go on
//! meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use kit::{Clock, Timestamp};
use snippets::{Registry, Snippets};
use spine::Base;
use store::{Options, Range, Schema, Shard, Store};
use tower::ServiceExt as _;
use web::Access;

use crate::bench::{Figure, Rate};
use crate::torture::folder_bytes;

const READERS: usize = 16;
/// Snippets without an end, which are read all the while.
const LIVING: u64 = 20_000;
const CONFIG: &str = "Body { Output: JSON InputSameAsOutput: true
  Section { Name: \"brief\" Body { TtlMinutes: 1 } } Section { Name: \"held\" } }";
/// A minute, and what filling takes by the clock that stands still: nothing.
const BEHIND_THE_END: Duration = Duration::from_secs(60);

/// What was seen.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub expiring: u64,
    pub living: u64,
    /// Rows of documents and of ends: full, and after the sweep.
    pub rows_before: (u64, u64),
    pub rows_after: (u64, u64),
    pub disk_before: u64,
    pub disk_after: u64,
    /// Expired snippets that were asked for before, during and after the sweep; all of them were answered 404.
    pub asked_expired: u64,
    pub sweep: Duration,
    pub quiet: Rate,
    pub swept: Rate,
}

impl Outcome {
    pub fn figures(&self) -> Vec<Figure> {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let rows = |(documents, ends): (u64, u64)| (documents + ends) as f64;
        let reads = format!("p99 of reads while {} are swept; quiet", self.expiring);
        vec![
            Figure::new(reads, "µs", self.swept.p99_us as f64, "≤ 2")
                .beside(self.quiet.p99_us as f64)
                .with_times(&self.swept),
            Figure::new("reads while swept; quiet", "1/s", self.swept.per_second, "-")
                .beside(self.quiet.per_second),
            Figure::new("swept", "snippets/s", self.expiring as f64 / self.sweep.as_secs_f64(), "-"),
            Figure::new("rows after the sweep; before", "rows", rows(self.rows_after), "living only")
                .beside(rows(self.rows_before)),
            Figure::new("disk after the sweep; before", "MiB", mib(self.disk_after), "< 1")
                .beside(mib(self.disk_before)),
            Figure::new("expired ones asked for and not served", "reads", self.asked_expired as f64, "all"),
        ]
    }
}

/// In one process, by a clock that is turned on by hand; the store is the embedded one. `patience` is how long compaction may
/// take to give the space back.
pub async fn run(expiring: u64, time: Duration, patience: Duration) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("store");
    let clock = Clock::manual(Timestamp(1_700_000_000_000_000));
    let (store, snippets) = open(folder.path(), &data, clock.clone()).await?;
    let routes = snippets::api::routes(snippets.clone());
    let living = LIVING.min(expiring);
    fill(&routes, "held", living).await?;
    fill(&routes, "brief", expiring).await?;
    let (rows_before, disk_before) = (rows(&store).await?, folder_bytes(&data));

    let quiet = reads(&routes, living, async || tokio::time::sleep(time).await).await?;
    clock.advance(BEHIND_THE_END.saturating_sub(Duration::from_micros(1)));
    served(&routes, expiring, 200).await?;
    clock.advance(Duration::from_micros(1));
    let mut asked_expired = served(&routes, expiring, 404).await?;
    let sweeping = {
        let snippets = snippets.clone();
        tokio::spawn(async move {
            let began = Instant::now();
            Ok::<_, snippets::Error>((snippets.sweep().await?, began.elapsed()))
        })
    };
    let mut wrong = None;
    let swept = reads(&routes, living, async || {
        while !sweeping.is_finished() && wrong.is_none() {
            match served(&routes, expiring, 404).await {
                Ok(asked) => asked_expired += asked,
                Err(error) => wrong = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await?;
    if let Some(error) = wrong {
        return Err(error);
    }
    let (removed, sweep) = sweeping.await??;
    ensure!(removed as u64 == expiring, "{removed} of {expiring} were swept");
    asked_expired += served(&routes, expiring, 404).await?;
    let rows_after = rows(&store).await?;
    let disk_after = emptied(&data, disk_before, patience).await;
    store.engine().close().await?;
    Ok(Outcome {
        expiring,
        living,
        rows_before,
        rows_after,
        disk_before,
        disk_after,
        asked_expired,
        sweep,
        quiet,
        swept,
    })
}

async fn open(folder: &Path, data: &Path, clock: Clock) -> anyhow::Result<(Store, Snippets)> {
    let config = folder.join("config.pb.txt");
    std::fs::write(&config, CONFIG)?;
    std::fs::write(folder.join("key_prefixes.txt"), "brief 1\nheld 2\n")?;
    let tables = [snippets::tables(), spine::tables()].concat();
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let store = Store::open(&[format!("embedded:{}", data.display())], Schema::new(tables), &options).await?;
    let settings = snippets::Settings { config: Some(config), ..Default::default() };
    let base = Base::alone(store.clone(), clock);
    let snippets = Snippets::open(&base, settings, Registry::shipped()).await?;
    Ok((store, snippets))
}

/// How many documents and ends there are.
async fn rows(store: &Store) -> anyhow::Result<(u64, u64)> {
    let mut counts = [0; 2];
    for (count, table) in counts.iter_mut().zip(["documents", "expiries"]) {
        let id = store.schema().id("snippets", table)?;
        for shard in Shard::all() {
            *count += store.engine().scan_shards(id, &[shard], &Range::all(usize::MAX)).await?.len() as u64;
        }
    }
    Ok((counts[0], counts[1]))
}

/// Asks for a thousand of those that expire; each is answered so.
async fn served(routes: &Router, expiring: u64, status: u16) -> anyhow::Result<u64> {
    let mut asked = 0;
    for key in (0..expiring).step_by((expiring / 1_000).max(1) as usize) {
        let found = get(routes, &format!("/brief/{key}")).await?;
        ensure!(found == status, "snippet {key} was answered {found}, not {status}");
        asked += 1;
    }
    Ok(asked)
}

/// Compaction gives the space back by and by.
async fn emptied(data: &Path, full: u64, patience: Duration) -> u64 {
    let began = Instant::now();
    loop {
        let left = folder_bytes(data);
        if left < full / 2 || began.elapsed() >= patience {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn fill(routes: &Router, name: &'static str, count: u64) -> anyhow::Result<()> {
    const WRITERS: u64 = 512;
    let writers: Vec<_> = (0..WRITERS.min(count))
        .map(|writer| {
            let routes = routes.clone();
            tokio::spawn(async move {
                for key in (writer..count).step_by(WRITERS as usize) {
                    let body = format!("{{\"id\": {key}, \"text\": \"{}\"}}", "snippet ".repeat(20));
                    let request = Request::put(format!("/{name}/{key}"))
                        .header("content-type", "json")
                        .extension(Access::without_token("bench"));
                    let answer = routes.clone().oneshot(request.body(Body::from(body))?).await?;
                    ensure!(answer.status() == 200, "a write was answered {}", answer.status());
                }
                Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    Ok(())
}

async fn get(routes: &Router, path: &str) -> anyhow::Result<u16> {
    let request = Request::get(path).extension(Access::without_token("bench")).body(Body::empty())?;
    let answer = routes.clone().oneshot(request).await?;
    let status = answer.status().as_u16();
    to_bytes(answer.into_body(), 1 << 20).await?;
    Ok(status)
}

/// Reads the living while something else goes on.
async fn reads(routes: &Router, living: u64, meanwhile: impl AsyncFnOnce()) -> anyhow::Result<Rate> {
    let (next, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let began = Instant::now();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (routes, next, over) = (routes.clone(), next.clone(), over.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let key = next.fetch_add(7_919, Ordering::Relaxed) % living;
                    let call = Instant::now();
                    let status = get(&routes, &format!("/held/{key}")).await?;
                    times.push(call.elapsed().as_micros() as u64);
                    ensure!(status == 200, "a read was answered {status}");
                    // A connection would wait for its next question here.
                    tokio::task::yield_now().await;
                }
                Ok(times)
            })
        })
        .collect();
    meanwhile().await;
    over.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for reader in readers {
        times.extend(reader.await??);
    }
    Ok(Rate::of(times, began.elapsed()))
}
