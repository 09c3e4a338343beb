//! All systems in one process under one driver: feeds are fetched and uploaded, people write, a stage of another program
//! looks on, businesses ship, cards are made; and the process is killed again and again. Each party checks what it was
//! promised, and at the end the cards are those of the offers.

mod cards;

use std::path::Path;

use super::feeds::Feeders;
use super::offers::People;
use super::silver::Businesses;
use super::stages::Stagers;
use super::{Kills, drive, feeds, offers, silver, stages};
use cards::Cards;

/// What a run saw.
#[derive(Clone, Debug)]
pub struct Report {
    pub kills: u32,
    pub feeds: feeds::Report,
    pub offers: offers::Report,
    pub stages: stages::Report,
    pub silver: silver::Report,
    pub cards: u64,
    pub slowest_start_ms: u128,
}

/// Kills `dvor serve` on the folder `kills` times under load, and checks.
pub async fn run(folder: &Path, plan: &Kills, category: &str) -> anyhow::Result<Report> {
    let seed = plan.seed;
    let mut feeders = Feeders::new(seed).await?;
    let mut people = People::new(category, seed.wrapping_add(1));
    let mut stagers = Stagers::new(category, seed.wrapping_add(2)).await?;
    let mut businesses = Businesses::new(category, seed.wrapping_add(3));
    let mut cards = Cards::new(people.sellers().chain(stagers.sellers()).collect());
    let slowest =
        drive(folder, plan, &mut [&mut feeders, &mut people, &mut stagers, &mut businesses, &mut cards])
            .await?;
    Ok(Report {
        kills: plan.kills,
        feeds: feeders.report,
        offers: people.report,
        stages: stagers.report,
        silver: businesses.report,
        cards: cards.seen,
        slowest_start_ms: slowest.as_millis(),
    })
}
