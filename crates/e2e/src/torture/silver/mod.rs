//! The kill test of master data: sellers write offers, shops are mapped and taken away, offers move between businesses,
//! parts that cannot be imported come and are mended, and the process is killed with SIGKILL again and again. At the end
//! nothing may be lost and nothing half saved: united offers are the live offers of mapped sellers, each in one home,
//! silver, existence and gold are what united ships, every migration has its answer, and nothing is owed.

mod check;
mod owner;
mod seller;
pub mod way;

use std::net::SocketAddr;
use std::path::Path;

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Kills, Party, drive};
use crate::program::Program;
use owner::Owner;
use seller::Seller;

const SELLERS: u32 = 4;

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

/// Sellers of businesses, and one who writes parts of offers.
pub struct Businesses {
    sellers: Vec<Seller>,
    owner: Owner,
    pub report: Report,
}

impl Businesses {
    pub fn new(category: &str, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        // Topics of a broker may have heard of businesses of other runs.
        let first: u32 = random.random_range(1..1_000_000) * 100;
        let run = kit::random_id();
        let businesses = [first, first + 1];
        let seller = |number| Seller::new(&run, number, category, businesses, random.random());
        let sellers = (0..SELLERS).map(seller).collect();
        Self { sellers, owner: Owner::new(first + 2, random.random()), report: Report::default() }
    }
}

#[async_trait(?Send)]
impl Party for Businesses {
    async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let sellers =
            futures::future::try_join_all(self.sellers.iter_mut().map(|seller| seller.work(address)));
        futures::future::try_join(sellers, self.owner.work(address)).await.map(drop)
    }

    async fn check(&mut self, program: &Program) -> anyhow::Result<()> {
        check::everything(program, &mut self.sellers, &mut self.owner, &mut self.report).await
    }
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks.
pub async fn run(folder: &Path, plan: &Kills, category: &str) -> anyhow::Result<Report> {
    let mut businesses = Businesses::new(category, plan.seed);
    let slowest = drive(folder, plan, &mut [&mut businesses]).await?;
    Ok(Report { kills: plan.kills, slowest_start_ms: slowest.as_millis(), ..businesses.report })
}
