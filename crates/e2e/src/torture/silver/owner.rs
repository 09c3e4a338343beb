//! A business that writes the parts of its offers itself, some of which cannot be imported at first.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::ensure;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

use crate::http::Client;

const OFFERS: u32 = 12;
const SHOPS: u32 = 3;
const JSON: &str = "content-type: application/json\r\n";

pub(super) struct Owner {
    pub(super) business: u32,
    random: StdRng,
    /// The weight that a shop said last and was told that it is kept.
    pub(super) said: BTreeMap<(String, u32), i64>,
    /// A weight that was said and never answered: it may hold as well.
    unsure: BTreeMap<(String, u32), Vec<i64>>,
    pub(super) acknowledged: u64,
}

impl Owner {
    pub(super) fn new(business: u32, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        Self { business, random, said: BTreeMap::new(), unsure: BTreeMap::new(), acknowledged: 0 }
    }

    pub(super) async fn work(&mut self, address: SocketAddr) -> anyhow::Result<()> {
        let Ok(mut client) = Client::connect(address).await else { return Ok(()) };
        loop {
            let sku = format!("own-{}", self.random.random_range(0..OFFERS));
            let shop = self.random.random_range(1..=SHOPS);
            // A negative weight cannot be imported.
            let weight = self.random.random_range(-2_000..8_000_i64);
            if self.say(&mut client, &sku, shop, weight).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn say(&mut self, client: &mut Client, sku: &str, shop: u32, weight: i64) -> anyhow::Result<()> {
        let key = (sku.to_owned(), shop);
        self.unsure.entry(key.clone()).or_default().push(weight);
        let original = json!({"name": {"value": sku}, "weight": {"value_mg": weight.to_string()}});
        let part = json!({"meta": {"rgb": "BLUE"}, "content": {"partner": {"original": original}}});
        let offer = json!({"service": {shop.to_string(): part}}).to_string();
        let path = format!("/v1/united/{}/{sku}", self.business);
        let answer = client.ask("PUT", &path, JSON, offer.as_bytes()).await?;
        if answer.status == 503 {
            return Ok(());
        }
        answer.expect(200)?;
        self.unsure.remove(&key);
        self.said.insert(key, weight);
        self.acknowledged += 1;
        Ok(())
    }

    /// What united has is what was acknowledged last, or what was said after it; then all is made good.
    pub(super) async fn finish(&mut self, client: &mut Client) -> anyhow::Result<()> {
        for ((sku, shop), weight) in self.said.clone() {
            let path = format!("/v1/united/{}/{sku}", self.business);
            let offer = client.get(&path).await?.expect(200)?.json()?;
            let part = &offer["service"][shop.to_string()];
            let found = &part["content"]["partner"]["original"]["weight"]["value_mg"];
            let found: Option<i64> = found.as_str().and_then(|text| text.parse().ok());
            let unsure = self.unsure.get(&(sku.clone(), shop)).cloned().unwrap_or_default();
            let holds = found.is_some_and(|found| found == weight || unsure.contains(&found));
            ensure!(holds, "{sku} of shop {shop}: {weight} was acknowledged, {found:?} is there");
        }
        let skus: Vec<(String, u32)> = (0..OFFERS).map(|number| (format!("own-{number}"), 1)).collect();
        let known: Vec<_> = self.said.keys().chain(self.unsure.keys()).cloned().chain(skus).collect();
        for (sku, shop) in known {
            let weight = self.random.random_range(1..8_000);
            self.say(client, &sku, shop, weight).await?;
            ensure!(self.said.get(&(sku.clone(), shop)) == Some(&weight), "{sku} of shop {shop} is refused");
        }
        Ok(())
    }
}
