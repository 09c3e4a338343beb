//! The kill test of the feeds: files are fetched from a moody server and uploaded, and the process is killed with
//! SIGKILL again and again. At the end no load may be lost or counted twice, every load's books must balance, no lock
//! may be left, and the offers must be exactly those of the last good files.

mod check;
mod edition;
mod history;
mod seller;
mod shop;

use std::ops::Range;
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

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kills: u32,
    pub seed: u64,
    /// How long a life lasts, from the open ports to the kill.
    pub lives_ms: Range<u64>,
    /// Of `dvor serve`, such as where rows and topics live.
    pub flags: Vec<String>,
}

impl Plan {
    /// On the embedded engines.
    pub fn embedded(kills: u32, seed: u64) -> Self {
        Self { kills, seed, lives_ms: 100..1_500, flags: Vec::new() }
    }

    /// On others: a process must outlive the time until a dead one's work is taken over.
    pub fn services(kills: u32, seed: u64, flags: Vec<String>) -> Self {
        Self { kills, seed, lives_ms: 1_000..15_000, flags }
    }
}

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kills: u32,
    pub loads: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub unchanged: u64,
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
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Report> {
    let Plan { kills, seed, .. } = *plan;
    let mut random = StdRng::seed_from_u64(seed);
    // Topics of a broker may have heard of sellers of other runs.
    let run = kit::random_id();
    let shop = Shop::open(SELLERS, random.random()).await?;
    let mut feeds = Vec::new();
    for seller in 0..SELLERS {
        for way in [Way::Fetched(seller), Way::Uploaded] {
            feeds.push(Feed::new(&format!("shop-{seller}-{run}"), seller, way, random.random()));
        }
    }
    let mut report = Report { kills, ..Report::default() };
    for kill in 0..kills {
        let program = start(folder, plan, &mut report)?;
        let life = Duration::from_millis(random.random_range(plan.lives_ms.clone()));
        let address = program.http;
        let working = futures::future::try_join_all(feeds.iter_mut().map(|feed| feed.work(address, &shop)));
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
    }
    let program = start(folder, plan, &mut report)?;
    check::everything(&program, &shop, &mut feeds, &mut report)
        .await
        .with_context(|| format!("after {kills} kills of seed {seed}"))?;
    Ok(report)
}

fn start(folder: &Path, plan: &Plan, report: &mut Report) -> anyhow::Result<Program> {
    let began = Instant::now();
    let mut flags = vec!["--allow-private-addresses", "127.0.0.0/8"];
    flags.extend(plan.flags.iter().map(String::as_str));
    let program = Program::start_with(folder, &flags, &SETTINGS)?;
    report.slowest_start_ms = report.slowest_start_ms.max(began.elapsed().as_millis());
    Ok(program)
}
