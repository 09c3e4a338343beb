//! The kill test of the stages: people write offers, a stage of another program looks at every change, and the process is
//! killed with SIGKILL again and again. At the end the stage's state must be true of every offer, its timers must have
//! come, everything that was saved must have been told, and no two runs of an offer may ever have overlapped.

mod check;
mod plugin;

use std::net::SocketAddr;
use std::path::Path;

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use super::{Kills, Party, drive};
use crate::http::Client;
use crate::program::Program;
use crate::torture::offers::Writer;
use plugin::Plugin;

const WRITERS: usize = 4;
const STAGE: &str = "mirror";

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

/// People who write offers, and the program of a stage that looks at them.
pub struct Stagers {
    plugin: Plugin,
    writers: Vec<Writer>,
    pub report: Report,
}

impl Stagers {
    pub async fn new(category: &str, seed: u64) -> anyhow::Result<Self> {
        let mut random = StdRng::seed_from_u64(seed);
        let plugin = Plugin::open(random.random()).await?;
        let writer = |number| Writer::new(&format!("staged-{number}"), category, random.random());
        Ok(Self { plugin, writers: (0..WRITERS).map(writer).collect(), report: Report::default() })
    }

    /// Those who write.
    pub fn sellers(&self) -> impl Iterator<Item = String> {
        self.writers.iter().map(|writer| writer.seller.clone())
    }
}

#[async_trait(?Send)]
impl Party for Stagers {
    /// The program knows the stage from then on.
    async fn prepare(&mut self, program: &Program) -> anyhow::Result<()> {
        let stage =
            json!({"address": self.plugin.address, "masks": [], "saved": "call", "deadline_ms": 1_000});
        let headers = "content-type: application/json\r\n";
        let mut client = Client::connect(program.http).await?;
        let path = format!("/v1/stages/{STAGE}");
        let answer = client.ask("PUT", &path, headers, stage.to_string().as_bytes()).await?;
        anyhow::ensure!(answer.status < 300, "{path}: {}", String::from_utf8_lossy(&answer.body));
        Ok(())
    }

    async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        futures::future::try_join_all(self.writers.iter_mut().map(|writer| writer.work(address)))
            .await
            .map(drop)
    }

    fn after_kill(&mut self) -> anyhow::Result<()> {
        self.plugin.check()
    }

    async fn check(&mut self, program: &Program) -> anyhow::Result<()> {
        check::everything(program, &self.plugin, &mut self.writers, &mut self.report).await
    }
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks.
pub async fn run(folder: &Path, plan: &Kills, category: &str) -> anyhow::Result<Report> {
    let mut stagers = Stagers::new(category, plan.seed).await?;
    let slowest = drive(folder, plan, &mut [&mut stagers]).await?;
    Ok(Report { kills: plan.kills, slowest_start_ms: slowest.as_millis(), ..stagers.report })
}
