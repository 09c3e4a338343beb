//! The kill test of the offers: people write over HTTP, moderators judge, feeds come by topic, and the process is killed
//! with SIGKILL again and again. What was acknowledged must be there, and at the end everything must add up.

mod check;
mod feed;
mod writer;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::program::Program;

pub use feed::Feed;
pub use writer::Writer;

const WRITERS: usize = 6;
const FEEDS: usize = 3;

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kills: u32,
    pub acknowledged: u64,
    pub offers: usize,
    pub feed_tasks: i64,
    pub events: u64,
    pub repeated_events: u64,
    pub results: u64,
    pub slowest_start_ms: u128,
}

/// Kills `dvor serve` on the folder so many times under load, and checks.
pub async fn run(folder: &Path, kills: u32, seed: u64, category: &str) -> anyhow::Result<Report> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut writers: Vec<_> =
        (0..WRITERS).map(|number| Writer::new(number, category, rng.random())).collect();
    let mut feeds: Vec<_> = (0..FEEDS).map(|number| Feed::new(number, category, rng.random())).collect();
    let mut report = Report { kills, ..Report::default() };
    for kill in 0..kills {
        let program = start(folder, &mut report)?;
        let life = Duration::from_millis(rng.random_range(100..1_500));
        let address = program.http;
        let working = async {
            // The first broken promise ends the life.
            let people = futures::future::try_join_all(writers.iter_mut().map(|writer| writer.work(address)));
            let loads = futures::future::try_join_all(feeds.iter_mut().map(|feed| feed.work(address)));
            futures::future::try_join(people, loads).await
        };
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
    }
    let program = start(folder, &mut report)?;
    for feed in &mut feeds {
        feed.finish(program.http).await?;
    }
    check::everything(&program, &mut writers, &feeds, &mut report)
        .await
        .with_context(|| format!("after {kills} kills of seed {seed}"))?;
    Ok(report)
}

fn start(folder: &Path, report: &mut Report) -> anyhow::Result<Program> {
    let began = Instant::now();
    let program = Program::start(folder, &[])?;
    report.slowest_start_ms = report.slowest_start_ms.max(began.elapsed().as_millis());
    Ok(program)
}
