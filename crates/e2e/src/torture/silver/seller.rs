//! A seller whose offers a shop of a business has, while the shop is mapped.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use anyhow::bail;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use crate::http::{Answer, Client};

/// How many offers a seller makes before they only change them.
const MAX_OFFERS: usize = 25;
/// Whatever version it has: the writers here are the only ones.
const JSON: &str = "content-type: application/json\r\nif-match: *\r\n";

pub(super) struct Seller {
    pub(super) name: String,
    category: String,
    pub(super) shop: u32,
    /// The shop's own business, and the one that its offers may move to.
    pub(super) businesses: [u32; 2],
    random: StdRng,
    /// Every offer that was ever made, as far as anybody was told.
    pub(super) offers: BTreeSet<String>,
    /// Requests for migration that were acknowledged, by their target.
    pub(super) requests: BTreeMap<String, u32>,
    asked: u64,
    pub(super) acknowledged: u64,
}

struct Call {
    method: &'static str,
    path: String,
    body: Value,
    /// What to remember if it is acknowledged.
    request: Option<(String, u32)>,
}

impl Seller {
    pub(super) fn new(run: &str, number: u32, category: &str, businesses: [u32; 2], seed: u64) -> Self {
        let mut businesses = businesses;
        businesses.rotate_left(number as usize % 2);
        Self {
            name: format!("seller-{number}-{run}"),
            category: category.to_owned(),
            shop: number + 1,
            businesses,
            random: StdRng::seed_from_u64(seed),
            offers: BTreeSet::new(),
            requests: BTreeMap::new(),
            asked: 0,
            acknowledged: 0,
        }
    }

    /// Works until the process dies. An error is a broken promise; a broken connection is none.
    pub(super) async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let Ok(mut client) = Client::connect(address).await else { return Ok(()) };
        loop {
            let call = self.next();
            let body = call.body.to_string();
            let Ok(answer) = client.ask(call.method, &call.path, JSON, body.as_bytes()).await else {
                return Ok(());
            };
            self.note(&call, &answer)?;
        }
    }

    fn next(&mut self) -> Call {
        let call = |method, path, body| Call { method, path, body, request: None };
        let make = self.offers.is_empty() || (self.offers.len() < MAX_OFFERS && self.random.random_bool(0.2));
        let dice = self.random.random_range(0..100);
        if make && dice < 50 {
            return call("POST", "/v1/offers".to_owned(), self.content());
        }
        let some = self.random.random_range(0..self.offers.len().max(1));
        let offer = self.offers.iter().nth(some).cloned();
        match (offer, dice) {
            (Some(id), 0..60) => {
                let body = match self.random.random_range(0..3) {
                    0 => {
                        json!({"price": {"amount": format!("{}.00", self.random.random_range(1..9_999)), "currency": "RUB"}})
                    }
                    1 => json!({"weight_grams": self.random.random_range(1..9_999)}),
                    _ => json!({"title": self.title()}),
                };
                call("PATCH", format!("/v1/offers/{id}"), body)
            }
            (Some(id), 60..64) => call("POST", format!("/v1/offers/{id}/withdraw"), json!({})),
            (Some(id), 64..70) => call("POST", format!("/v1/offers/{id}/activate"), json!({})),
            (Some(id), 70..72) => call("POST", format!("/v1/offers/{id}/delete"), json!({})),
            (Some(id), 72..84) => self.migration(&id),
            (_, 84..88) => call("DELETE", self.mapping(), json!({})),
            _ => self.map(),
        }
    }

    fn content(&mut self) -> Value {
        json!({"seller_id": self.name, "category": {"id": self.category}, "title": self.title(),
            "price": {"amount": "100.00", "currency": "RUB"}, "weight_grams": self.random.random_range(1..9_999)})
    }

    fn title(&mut self) -> String {
        format!("Диван {} {}", self.name, self.random.random_range(0..1_000_000))
    }

    fn mapping(&self) -> String {
        format!("/v1/businesses/{}/shops/{}", self.businesses[0], self.shop)
    }

    fn map(&mut self) -> Call {
        let colour = ["BLUE", "BLUE", "DBS", "WHITE"][self.random.random_range(0..4)];
        Call { method: "PUT", path: self.mapping(), body: self.mapped(colour), request: None }
    }

    fn mapped(&self, colour: &str) -> Value {
        json!({"seller_id": self.name, "colour": colour})
    }

    /// From one of the two businesses to the other, whether it is there or not.
    fn migration(&mut self, shop_sku: &str) -> Call {
        self.asked += 1;
        let mut way = self.businesses;
        way.rotate_left(self.random.random_range(0..2));
        let id = format!("{}-{}", self.name, self.asked);
        let body = json!({"request_id": id, "source_business_id": way[0], "target_business_id": way[1],
            "shop_sku": shop_sku});
        Call { method: "POST", path: "/v1/migrations".to_owned(), body, request: Some((id, way[1])) }
    }

    fn note(&mut self, call: &Call, answer: &Answer) -> anyhow::Result<()> {
        match answer.status {
            200..=299 => {
                self.acknowledged += 1;
                if call.path == "/v1/offers" {
                    let id = answer.json()?["id"].as_str().map(str::to_owned);
                    self.offers.extend(id);
                }
                self.requests.extend(call.request.clone());
                Ok(())
            }
            // A move that the status does not allow, a shop that is not mapped, an offer that is deleted; or it had no time.
            404 | 409 | 410 | 412 | 428 | 503 => Ok(()),
            status => {
                bail!(
                    "{} {} answered {status}: {}",
                    call.method,
                    call.path,
                    String::from_utf8_lossy(&answer.body)
                )
            }
        }
    }

    /// The shop is mapped in the end, so that there is something to compare.
    pub(super) async fn finish(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let body = self.mapped(if self.shop.is_multiple_of(2) { "DBS" } else { "BLUE" }).to_string();
        client.ask("PUT", &self.mapping(), JSON, body.as_bytes()).await?.expect(200)?;
        Ok(())
    }
}
