//! The kill test of the feeds: files are fetched from a moody server and uploaded, and the process is killed with
//! SIGKILL again and again. At the end no load may be lost or counted twice, every load's books must balance, no lock
//! may be left, and the offers must be exactly those of the last good files.

mod check;
mod edition;
mod history;
mod seller;
mod shop;

use std::net::SocketAddr;
use std::path::Path;

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Kills, Party, drive};
use crate::program::Program;
use seller::{Feed, Way};
use shop::Shop;

/// Each has a feed that is fetched and one that is uploaded into; half of them write XML, half lines of JSON.
const SELLERS: usize = 3;

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

/// Sellers with feeds.
pub struct Feeders {
    shop: Shop,
    feeds: Vec<Feed>,
    pub report: Report,
}

impl Feeders {
    pub async fn new(seed: u64) -> anyhow::Result<Self> {
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
        Ok(Self { shop, feeds, report: Report::default() })
    }
}

#[async_trait(?Send)]
impl Party for Feeders {
    fn flags(&self) -> &'static [&'static str] {
        &["--allow-private-addresses", "127.0.0.0/8"]
    }

    /// The history is checked to its beginning, so nothing of it may be forgotten.
    fn settings(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("DVOR_FEEDS__KEEP_TASKS", "1000000"),
            ("DVOR_FEEDS__UPLOADS_PER_HOUR", "1000000"),
            ("DVOR_FEEDS__FETCHES_PER_HOUR", "1000000"),
        ]
    }

    async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let shop = &self.shop;
        futures::future::try_join_all(self.feeds.iter_mut().map(|feed| feed.work(address, shop)))
            .await
            .map(drop)
    }

    async fn check(&mut self, program: &Program) -> anyhow::Result<()> {
        check::everything(program, &self.shop, &mut self.feeds, &mut self.report).await
    }
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks.
pub async fn run(folder: &Path, plan: &Kills) -> anyhow::Result<Report> {
    let mut feeders = Feeders::new(plan.seed).await?;
    let slowest = drive(folder, plan, &mut [&mut feeders]).await?;
    Ok(Report { kills: plan.kills, slowest_start_ms: slowest.as_millis(), ..feeders.report })
}
