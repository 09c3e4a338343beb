//! Reads while a great many snippets expire and are swept, beside reads without a sweep.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use kit::{Clock, Timestamp};
use snippets::{Registry, Snippets};
use store::{Options, Schema, Store};
use topics::{Tokens, Topics};
use tower::ServiceExt as _;
use web::Access;

use crate::bench::{Figure, Rate, rate};
use crate::torture::folder_bytes;

const READERS: usize = 16;
const LIVING: u64 = 20_000;
const CONFIG: &str = "Body { Output: JSON InputSameAsOutput: true
  Section { Name: \"brief\" Body { TtlMinutes: 1 } } Section { Name: \"held\" } }";

/// In one process, by a clock that is turned on by hand; the store is the embedded one.
pub async fn run(expiring: u64, time: Duration) -> anyhow::Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("config.pb.txt"), CONFIG)?;
    std::fs::write(folder.path().join("key_prefixes.txt"), "brief 1\nheld 2\n")?;
    let tables = [snippets::tables(), topics::tables(), cluster::tables()].concat();
    let data = folder.path().join("store");
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let store = Store::open(&[format!("embedded:{}", data.display())], Schema::new(tables), &options).await?;
    let topics = Topics::open("embedded:", store.clone(), Tokens::all(), topics::Options::default())?;
    let clock = Clock::manual(Timestamp(1_700_000_000_000_000));
    let options =
        snippets::Options { config: Some(folder.path().join("config.pb.txt")), ..Default::default() };
    let snippets =
        Snippets::open(store.clone(), topics, None, clock.clone(), Registry::shipped(), options).await?;
    let routes = snippets::api::http::routes(snippets.clone());
    fill(&routes, "held", LIVING).await?;
    fill(&routes, "brief", expiring).await?;
    let full = folder_bytes(&data);
    let quiet = reads(&routes, time).await?;
    clock.advance(Duration::from_secs(61));
    for key in (0..expiring).step_by((expiring / 1_000).max(1) as usize) {
        ensure!(get(&routes, &format!("/brief/{key}")).await? == 404, "an expired snippet was served");
    }
    let began = Instant::now();
    let sweep = tokio::spawn(async move { snippets.sweep().await });
    let swept_time = time.min(Duration::from_secs(3));
    let mut busy = reads(&routes, swept_time).await?;
    while !sweep.is_finished() {
        let more = reads(&routes, swept_time).await?;
        busy = Rate { p99_us: busy.p99_us.max(more.p99_us), ..more };
    }
    let swept = sweep.await??;
    ensure!(swept as u64 == expiring, "{swept} of {expiring} were swept");
    let seconds = began.elapsed().as_secs_f64();
    let left = emptied(&data, full).await;
    store.engine().close().await?;
    Ok(vec![
        Figure::new(
            format!("p99 of reads while {expiring} are swept; quiet"),
            "µs",
            busy.p99_us as f64,
            "≤ 2",
        )
        .beside(quiet.p99_us as f64)
        .with_times(&busy),
        Figure::new("swept", "snippets/s", swept as f64 / seconds, "-"),
        Figure::new("disk after the sweep; before", "MiB", (left >> 20) as f64, "< 1")
            .beside((full >> 20) as f64),
    ])
}

/// Compaction gives the space back by and by.
async fn emptied(data: &std::path::Path, full: u64) -> u64 {
    let began = Instant::now();
    loop {
        let left = folder_bytes(data);
        if left < full / 2 || began.elapsed() > Duration::from_secs(90) {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn fill(routes: &Router, name: &'static str, count: u64) -> anyhow::Result<()> {
    const WRITERS: u64 = 256;
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

async fn reads(routes: &Router, time: Duration) -> anyhow::Result<Rate> {
    let routes = Arc::new(routes.clone());
    rate(READERS, time, move |n| {
        let routes = routes.clone();
        async move {
            let status = get(&routes, &format!("/held/{}", (n * 7_919) % LIVING)).await?;
            ensure!(status == 200, "a read was answered {status}");
            Ok(())
        }
    })
    .await
}
