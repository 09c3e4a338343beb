//! The kill test of the feeds: files are fetched from a moody server and uploaded, and the process is killed with
//! SIGKILL again and again. At the end no load may be lost or counted twice, every load's books must balance, no lock
//! may be left, and the offers must be exactly those of the last good files.

mod check;
mod edition;
mod history;
mod seller;
mod shop;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::program::Program;
use seller::{Feed, Way};
use shop::Shop;

/// Each has a feed that is fetched and one that is uploaded into; half of them write XML, half lines of JSON.
const SELLERS: usize = 3;

/// The history is checked to its beginning, so nothing of it may be forgotten.
const SETTINGS: [(&str, &str); 2] =
    [("DVOR_FEEDS__KEEP_TASKS", "1000000"), ("DVOR_FEEDS__UPLOADS_PER_HOUR", "1000000")];

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kills: u32,
    pub loads: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unchanged: u64,
    pub superseded: u64,
    pub follow_ups: u64,
    pub records: u64,
    pub errors: u64,
    pub uploads_acknowledged: u64,
    /// Uploads that became loads although nobody had been told.
    pub uploads_unacknowledged: u64,
    pub downloads_whole: u64,
    pub downloads_broken_off: u64,
    pub not_modified: u64,
    pub offers: u64,
    pub slowest_start_ms: u128,
}

/// Kills `dvor serve` on the folder so many times under load, and checks.
pub async fn run(folder: &Path, kills: u32, seed: u64) -> anyhow::Result<Report> {
    let mut random = StdRng::seed_from_u64(seed);
    let shop = Shop::open(SELLERS, random.random()).await?;
    let mut feeds = Vec::new();
    for seller in 0..SELLERS {
        feeds.push(Feed::new(seller, Way::Fetched(seller), random.random()));
        feeds.push(Feed::new(seller, Way::Uploaded, random.random()));
    }
    let mut report = Report { kills, ..Report::default() };
    for kill in 0..kills {
        let program = start(folder, &mut report)?;
        let life = Duration::from_millis(random.random_range(100..1_500));
        let address = program.http;
        let working = futures::future::try_join_all(feeds.iter_mut().map(|feed| feed.work(address, &shop)));
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
    }
    let program = start(folder, &mut report)?;
    check::everything(&program, &shop, &mut feeds, &mut report)
        .await
        .with_context(|| format!("after {kills} kills of seed {seed}"))?;
    Ok(report)
}

fn start(folder: &Path, report: &mut Report) -> anyhow::Result<Program> {
    let began = Instant::now();
    let program = Program::start_with(folder, &["--allow-private-addresses", "127.0.0.0/8"], &SETTINGS)?;
    report.slowest_start_ms = report.slowest_start_ms.max(began.elapsed().as_millis());
    Ok(program)
}
