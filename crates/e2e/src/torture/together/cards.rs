//! The cards of offers: each offer has its newest, and nobody waits for a dead letter.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::http::Client;
use crate::program::Program;
use crate::torture::Party;
use crate::torture::cabinet::{get, pages};

const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);

/// Whoever reads cards.
pub(super) struct Cards {
    sellers: Vec<String>,
    pub(super) seen: u64,
}

impl Cards {
    /// Of the offers of these sellers.
    pub(super) fn new(sellers: Vec<String>) -> Self {
        Self { sellers, seen: 0 }
    }
}

#[async_trait(?Send)]
impl Party for Cards {
    /// Cards are made without anybody's doing.
    async fn work(&mut self, _: SocketAddr) -> anyhow::Result<()> {
        Ok(())
    }

    async fn check(&mut self, program: &Program) -> anyhow::Result<()> {
        let mut api = Client::connect(program.http).await?;
        let mut port = Client::connect(program.snippets.context("the port of the snippets")?).await?;
        for seller in &self.sellers {
            let offers =
                pages(&mut api, &format!("/v1/sellers/{seller}/offers?preset=all&limit=100")).await?;
            for offer in offers {
                let id = offer["id"].as_str().context("an offer's id")?;
                for language in ["ru", "en"] {
                    card_is_newest(&mut api, &mut port, id, language).await?;
                    self.seen += 1;
                }
            }
        }
        let letters = port.get("/-/failures").await?.expect(200)?.json()?;
        ensure!(letters["items"] == json!([]), "cards could not be made: {letters}");
        Ok(())
    }
}

async fn card_is_newest(api: &mut Client, port: &mut Client, id: &str, language: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        // A stage may write at any time.
        let offer = get(api, &format!("/v1/offers/{id}")).await?;
        let answer = port.get(&format!("/offer/{id}/{language}")).await?;
        let card: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let card = &card["offer/card"];
        if answer.status == 200
            && card["version"] == offer["version"]
            && card["price"]["amount"] == offer["price"]["amount"]
        {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "{id} is {offer}, its card {} {card}", answer.status);
        tokio::time::sleep(LOOK).await;
    }
}
