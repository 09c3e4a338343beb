//! The kill test of the offers: people write over HTTP, moderators judge, feeds come by topic, and the process is killed
//! with SIGKILL again and again. What was acknowledged must be there, and at the end everything must add up.

mod check;
mod feed;
mod writer;

use std::net::SocketAddr;
use std::path::Path;

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Kills, Party, drive};
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

/// People who write offers, and sellers whose feeds come by topic.
pub struct People {
    writers: Vec<Writer>,
    feeds: Vec<Feed>,
    pub report: Report,
}

impl People {
    pub fn new(category: &str, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let writer = |number| Writer::new(&format!("writer-{number}"), category, random.random());
        let writers = (0..WRITERS).map(writer).collect();
        let feeds = (0..FEEDS).map(|number| Feed::new(number, category, random.random())).collect();
        Self { writers, feeds, report: Report::default() }
    }

    /// Those who write.
    pub fn sellers(&self) -> impl Iterator<Item = String> {
        self.writers.iter().map(|writer| writer.seller.clone())
    }
}

#[async_trait(?Send)]
impl Party for People {
    async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        // The first broken promise ends the life.
        let people =
            futures::future::try_join_all(self.writers.iter_mut().map(|writer| writer.work(address)));
        let loads = futures::future::try_join_all(self.feeds.iter_mut().map(|feed| feed.work(address)));
        futures::future::try_join(people, loads).await.map(drop)
    }

    async fn check(&mut self, program: &Program) -> anyhow::Result<()> {
        for feed in &mut self.feeds {
            feed.finish(program.http).await?;
        }
        check::everything(program, &mut self.writers, &self.feeds, &mut self.report).await
    }
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks.
pub async fn run(folder: &Path, plan: &Kills, category: &str) -> anyhow::Result<Report> {
    let mut people = People::new(category, plan.seed);
    let slowest = drive(folder, plan, &mut [&mut people]).await?;
    Ok(Report { kills: plan.kills, slowest_start_ms: slowest.as_millis(), ..people.report })
}
