//! The kill test of the stages: people write offers, a stage of another program looks at every change, and the process is
//! killed with SIGKILL again and again. At the end the stage's state must be true of every offer, its timers must have
//! come, everything that was saved must have been told, and no two runs of an offer may ever have overlapped.

mod check;
mod plugin;

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use crate::http::Client;
use crate::program::Program;
use crate::torture::offers::Writer;
use plugin::Plugin;

const WRITERS: usize = 4;
const STAGE: &str = "mirror";

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
        Self { kills, seed, lives_ms: 200..2_000, flags: Vec::new() }
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
    pub acknowledged: u64,
    pub offers: usize,
    pub runs: u64,
    pub failed: u64,
    pub saved: u64,
    pub slowest_start_ms: u128,
}

/// Kills `dvor serve` on the folder so many times under load, and checks.
pub async fn run(folder: &Path, plan: &Plan, category: &str) -> anyhow::Result<Report> {
    let Plan { kills, seed, .. } = *plan;
    let mut rng = StdRng::seed_from_u64(seed);
    let plugin = Plugin::open(rng.random()).await?;
    let mut writers: Vec<_> =
        (0..WRITERS).map(|number| Writer::new(number, category, rng.random())).collect();
    let mut report = Report { kills, ..Report::default() };
    for kill in 0..kills {
        let program = start(folder, plan, &plugin, &mut report).await?;
        let life = Duration::from_millis(rng.random_range(plan.lives_ms.clone()));
        let address = program.http;
        let working = futures::future::try_join_all(writers.iter_mut().map(|writer| writer.work(address)));
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
        plugin.check()?;
    }
    let program = start(folder, plan, &plugin, &mut report).await?;
    check::everything(&program, &plugin, &mut writers, &mut report)
        .await
        .with_context(|| format!("after {kills} kills of seed {seed}"))?;
    Ok(report)
}

/// Starts the program, which knows the stage from then on.
async fn start(folder: &Path, plan: &Plan, plugin: &Plugin, report: &mut Report) -> anyhow::Result<Program> {
    let began = Instant::now();
    let flags: Vec<_> = plan.flags.iter().map(String::as_str).collect();
    let program = Program::start(folder, &flags)?;
    report.slowest_start_ms = report.slowest_start_ms.max(began.elapsed().as_millis());
    let stage = json!({"address": plugin.address, "masks": [], "saved": "call", "deadline_ms": 1_000});
    let headers = "content-type: application/json\r\n";
    let mut client = Client::connect(program.http).await?;
    let path = format!("/v1/stages/{STAGE}");
    let answer = client.ask("PUT", &path, headers, stage.to_string().as_bytes()).await?;
    anyhow::ensure!(answer.status < 300, "{path}: {}", String::from_utf8_lossy(&answer.body));
    Ok(program)
}
