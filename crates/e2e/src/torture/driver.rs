//! The one driver of the kill tests over `dvor serve`: it starts the program, lets the parties work, kills it with SIGKILL
//! at a random moment, again and again, and lets each party check what is left.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::program::Program;

/// How a run goes.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kills: u32,
    /// Of the moments of the kills, and of what the parties do.
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

/// Those who use one system, and know what was promised to them.
#[async_trait(?Send)]
pub trait Party {
    /// Flags of the program that the party needs.
    fn flags(&self) -> &'static [&'static str] {
        &[]
    }

    /// Settings likewise.
    fn settings(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// After each start, before anybody works.
    async fn prepare(&mut self, _: &Program) -> anyhow::Result<()> {
        Ok(())
    }

    /// Works until the process dies. An error is a broken promise; a broken connection is none.
    async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()>;

    /// After each kill.
    fn after_kill(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// In the last life, which nobody kills: what must be true when everything has settled.
    async fn check(&mut self, program: &Program) -> anyhow::Result<()>;
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks. Returns how long the slowest start took.
pub async fn run(folder: &Path, plan: &Plan, parties: &mut [&mut dyn Party]) -> anyhow::Result<Duration> {
    let Plan { kills, seed, .. } = *plan;
    let mut random = StdRng::seed_from_u64(seed);
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        let program = start(folder, plan, parties, &mut slowest).await?;
        let life = Duration::from_millis(random.random_range(plan.lives_ms.clone()));
        let address = program.http;
        let working = futures::future::try_join_all(parties.iter_mut().map(|party| party.work(address)));
        // Dropped in the middle of whatever it does: nobody hears the answers that are under way.
        let checked = tokio::time::timeout(life, working).await;
        program.kill()?;
        if let Ok(result) = checked {
            result.with_context(|| format!("life {kill} of seed {seed}"))?;
        }
        for party in parties.iter_mut() {
            party.after_kill()?;
        }
    }
    let program = start(folder, plan, parties, &mut slowest).await?;
    for party in parties.iter_mut() {
        party.check(&program).await.with_context(|| format!("after {kills} kills of seed {seed}"))?;
    }
    Ok(slowest)
}

async fn start(
    folder: &Path,
    plan: &Plan,
    parties: &mut [&mut dyn Party],
    slowest: &mut Duration,
) -> anyhow::Result<Program> {
    let began = Instant::now();
    let mut flags: Vec<_> = plan.flags.iter().map(String::as_str).collect();
    flags.extend(parties.iter().flat_map(|party| party.flags()));
    let settings: Vec<_> = parties.iter().flat_map(|party| party.settings()).copied().collect();
    let program = Program::start_with(folder, &flags, &settings)?;
    *slowest = (*slowest).max(began.elapsed());
    for party in parties {
        party.prepare(&program).await?;
    }
    Ok(program)
}
