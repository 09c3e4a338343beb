//! The kill test of master data: sellers write offers, shops are mapped and taken away, offers move between businesses,
//! parts that cannot be imported come and are mended, and the process is killed with SIGKILL again and again. At the end
//! nothing may be lost and nothing half saved: united offers are the live offers of mapped sellers, each in one home,
//! silver, existence and gold are what united ships, every migration has its answer, and nothing is owed.

mod check;
mod owner;
mod seller;
pub mod way;

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::load::offers::easy_category;
use crate::program::Program;
use owner::Owner;
use seller::Seller;

const SELLERS: u32 = 4;

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
        Self { kills, seed, lives_ms: 500..8_000, flags }
    }
}

/// What a run saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kills: u32,
    /// Changes of offers, mappings and parts that were acknowledged.
    pub acknowledged: u64,
    pub offers: u64,
    /// Live parts of shops.
    pub parts: u64,
    pub removed: u64,
    pub gold: u64,
    pub migrations: u64,
    /// Of them, those that moved something.
    pub moved: u64,
    pub shipments: u64,
    pub slowest_start_ms: u128,
}

/// Kills `dvor serve` on the folder so many times under load, and checks.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Report> {
    let Plan { kills, seed, .. } = *plan;
    let mut random = StdRng::seed_from_u64(seed);
    // Topics of a broker may have heard of businesses of other runs.
    let first: u32 = random.random_range(1..1_000_000) * 100;
    let run = kit::random_id();
    let category = easy_category(&catalog::Catalog::shipped());
    let mut sellers: Vec<_> = (0..SELLERS)
        .map(|number| Seller::new(&run, number, &category, [first, first + 1], random.random()))
        .collect();
    let mut owner = Owner::new(first + 2, random.random());
    let mut report = Report { kills, ..Report::default() };
    for kill in 0..kills {
        let program = start(folder, plan, &mut report)?;
        let life = Duration::from_millis(random.random_range(plan.lives_ms.clone()));
        let address = program.http;
        let working = async {
            let sellers =
                futures::future::try_join_all(sellers.iter_mut().map(|seller| seller.work(address)));
            futures::future::try_join(sellers, owner.work(address)).await
        };
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
    }
    let program = start(folder, plan, &mut report)?;
    check::everything(&program, &mut sellers, &mut owner, &mut report)
        .await
        .with_context(|| format!("after {kills} kills of seed {seed}"))?;
    Ok(report)
}

fn start(folder: &Path, plan: &Plan, report: &mut Report) -> anyhow::Result<Program> {
    let began = Instant::now();
    let flags: Vec<_> = plan.flags.iter().map(String::as_str).collect();
    let program = Program::start(folder, &flags)?;
    report.slowest_start_ms = report.slowest_start_ms.max(began.elapsed().as_millis());
    Ok(program)
}
