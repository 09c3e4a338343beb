//! A person with offers of their own, and the moderator who judges them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::http::{Answer, Client};

/// How many offers a writer makes before it only changes them.
const MAX_OFFERS: usize = 60;

pub struct Writer {
    pub seller: String,
    category: String,
    rng: StdRng,
    /// The newest version of each offer that was acknowledged, and its price.
    pub known: BTreeMap<String, Acknowledged>,
    pub acknowledged: u64,
    opinions: u64,
}

#[derive(Clone, Debug)]
pub struct Acknowledged {
    pub version: i64,
    pub price: Option<String>,
    pub status: String,
}

impl Writer {
    pub fn new(seller: &str, category: &str, seed: u64) -> Self {
        Self {
            seller: seller.to_owned(),
            category: category.to_owned(),
            rng: StdRng::seed_from_u64(seed),
            known: BTreeMap::new(),
            acknowledged: 0,
            opinions: 0,
        }
    }

    /// Checks what an earlier life left, then works until the process dies. An error is a broken promise; a broken
    /// connection is none.
    pub async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let Ok(mut client) = Client::connect(address).await else { return Ok(()) };
        let ids: Vec<_> = self.known.keys().cloned().collect();
        for id in ids {
            let Ok(answer) = client.get(&format!("/v1/offers/{id}")).await else { return Ok(()) };
            self.compare(&id, &answer)?;
        }
        loop {
            let (method, path, headers, body, id) = self.next();
            let Ok(answer) = client.ask(method, &path, &headers, body.to_string().as_bytes()).await else {
                return Ok(());
            };
            if let (412, Some(id)) = (answer.status, id.as_deref()) {
                // A stage wrote in between.
                let Ok(newer) = client.get(&format!("/v1/offers/{id}")).await else { return Ok(()) };
                self.compare(id, &newer)?;
                continue;
            }
            self.note(id.as_deref(), &path, &answer)?;
        }
    }

    /// What is there is at least what was acknowledged.
    pub fn compare(&mut self, id: &str, answer: &Answer) -> anyhow::Result<()> {
        ensure!(answer.status == 200, "offer {id} was acknowledged and is not there: {}", answer.status);
        let found = known(&answer.json()?)?;
        let before = &self.known[id];
        ensure!(
            found.version >= before.version,
            "offer {id}: version {} was acknowledged, {} is there",
            before.version,
            found.version
        );
        if found.version == before.version {
            ensure!(
                (&found.price, &found.status) == (&before.price, &before.status),
                "offer {id}, version {}: {before:?} was acknowledged, {found:?} is there",
                found.version
            );
        }
        self.known.insert(id.to_owned(), found);
        Ok(())
    }

    fn next(&mut self) -> (&'static str, String, String, Value, Option<String>) {
        let json = "content-type: application/json\r\n".to_owned();
        let price = || json!({"amount": "100.00", "currency": "RUB"});
        if self.known.is_empty() || (self.known.len() < MAX_OFFERS && self.rng.random_bool(0.3)) {
            let body = json!({
                "seller_id": self.seller,
                "category": {"id": self.category},
                "title": "Диван угловой",
                "price": price(),
            });
            return ("POST", "/v1/offers".to_owned(), json, body, None);
        }
        let place = self.rng.random_range(0..self.known.len());
        let (id, known) = self.known.iter().nth(place).expect("the place is within");
        let id = id.clone();
        match self.rng.random_range(0..10) {
            0..=5 => {
                let headers = format!("{json}if-match: \"{}\"\r\n", known.version);
                let amount = format!("{}.00", self.rng.random_range(1..100_000));
                let body = json!({"price": {"amount": amount, "currency": "RUB"}});
                ("PATCH", format!("/v1/offers/{id}"), headers, body, Some(id))
            }
            6 => ("POST", format!("/v1/offers/{id}/withdraw"), json, json!({}), Some(id)),
            7 => ("POST", format!("/v1/offers/{id}/activate"), json, json!({}), Some(id)),
            _ => {
                self.opinions += 1;
                let opinion = if self.rng.random_bool(0.5) { "ban" } else { "unban" };
                // Each opinion is younger than the one before.
                let seconds = self.opinions % 86_400;
                let timestamp = format!(
                    "2026-01-{:02}T{:02}:{:02}:{:02}Z",
                    1 + self.opinions / 86_400,
                    seconds / 3_600,
                    seconds / 60 % 60,
                    seconds % 60
                );
                let body = json!({"opinion": opinion, "reasons": ["test"], "timestamp": timestamp});
                ("POST", format!("/v1/offers/{id}/opinions"), json, body, Some(id))
            }
        }
    }

    fn note(&mut self, id: Option<&str>, path: &str, answer: &Answer) -> anyhow::Result<()> {
        match answer.status {
            200 | 201 => {
                let body = answer.json()?;
                // An opinion answers with its effect; the offer is in it where it was applied.
                let offer =
                    if body.get("offer").is_some_and(Value::is_object) { &body["offer"] } else { &body };
                self.acknowledged += 1;
                if let Some(id) = offer["id"].as_str() {
                    self.known.insert(id.to_owned(), known(offer)?);
                }
            }
            // A move that the status does not allow.
            202 | 409 => {}
            // An unanswered change of an earlier life arrived after all; `work` reads versions first, so never here.
            status => bail!("{path} of {id:?} answered {status}: {}", String::from_utf8_lossy(&answer.body)),
        }
        Ok(())
    }
}

fn known(offer: &Value) -> anyhow::Result<Acknowledged> {
    let version = offer["version"].as_i64();
    let version = version.ok_or_else(|| anyhow::anyhow!("an offer without a version: {offer}"))?;
    let price = offer["price"]["amount"].as_str().map(str::to_owned);
    Ok(Acknowledged { version, price, status: offer["status"].as_str().unwrap_or_default().to_owned() })
}
