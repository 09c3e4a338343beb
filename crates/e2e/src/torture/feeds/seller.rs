//! One feed of one seller: its settings, its files, and what was promised about them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::edition::{Edition, Format, Kind, Press};
use super::shop::Shop;
use crate::http::Client;
use crate::torture::cabinet::get;

/// Between two looks at a load.
const LOOK: Duration = Duration::from_millis(25);
/// After this number of looks the next file comes, whether the last is loaded or not.
const LOOKS: u32 = 30;

/// How the files of a feed come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From this shelf of the shop.
    Fetched(usize),
    Uploaded,
}

pub(super) struct Feed {
    pub(super) seller: String,
    pub(super) namespace: &'static str,
    pub(super) way: Way,
    on_missing: &'static str,
    random: StdRng,
    press: Press,
    made: bool,
    /// By their number.
    pub(super) editions: BTreeMap<u64, Arc<Edition>>,
    /// Loads whose number was told, and the edition of each.
    pub(super) acknowledged: BTreeMap<i64, u64>,
}

impl Feed {
    /// The seller's number decides what their feeds are like.
    pub(super) fn new(seller: &str, number: usize, way: Way, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let format = if number.is_multiple_of(2) { Format::Xml } else { Format::Lines };
        Self {
            seller: seller.to_owned(),
            namespace: if way == Way::Uploaded { "by-hand" } else { "default" },
            way,
            on_missing: if number == 0 { "make_manual" } else { "delete" },
            press: Press::new(format, random.random()),
            random,
            made: false,
            editions: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
        }
    }

    pub(super) fn path(&self) -> String {
        format!("/v1/sellers/{}/feeds/{}", self.seller, self.namespace)
    }

    /// Brings files in until the process dies. An error is a broken promise; a broken connection is none.
    pub(super) async fn work(&mut self, address: SocketAddr, shop: &Shop) -> anyhow::Result<()> {
        let Ok(mut client) = Client::connect(address).await else { return Ok(()) };
        self.begin(shop);
        if self.make(&mut client, shop).await.is_err() {
            return Ok(());
        }
        loop {
            let kind = match self.random.random_range(0..10) {
                0 => Kind::BrokenLate,
                1 => Kind::NoFeed,
                _ => Kind::Good,
            };
            // An unchanged file is fetched again now and then.
            if self.way == Way::Uploaded || self.random.random_bool(0.7) {
                self.print(kind, shop);
            }
            let Ok(answer) = self.bring(&mut client).await else { return Ok(()) };
            self.note(&answer)?;
            for _ in 0..self.random.random_range(0..LOOKS) {
                match self.newest(&mut client).await {
                    Ok(Some(newest)) if is_final(&newest) => break,
                    Ok(_) => tokio::time::sleep(LOOK).await,
                    Err(_) => return Ok(()),
                }
            }
        }
    }

    /// There is a file from the beginning.
    pub(super) fn begin(&mut self, shop: &Shop) {
        if self.editions.is_empty() {
            self.print(Kind::Good, shop);
        }
    }

    /// Makes the feed, or makes it again: the answer may have been lost.
    pub(super) async fn make(&mut self, client: &mut Client, shop: &Shop) -> anyhow::Result<()> {
        if self.made {
            return Ok(());
        }
        let mut settings = json!({"on_missing": self.on_missing, "guard_percent": 0});
        if let Way::Fetched(shelf) = self.way {
            settings["url"] = shop.url(shelf).into();
        }
        let body = settings.to_string();
        let headers = "content-type: application/json\r\n";
        client.ask("PUT", &self.path(), headers, body.as_bytes()).await?.expect(200)?;
        self.made = true;
        Ok(())
    }

    /// The next edition, on the shelf if the feed is fetched.
    pub(super) fn print(&mut self, kind: Kind, shop: &Shop) -> Arc<Edition> {
        let edition = Arc::new(self.press.edition(kind));
        self.editions.insert(edition.number, edition.clone());
        if let Way::Fetched(shelf) = self.way {
            shop.lay(shelf, edition.clone());
        }
        edition
    }

    /// Asks for a fetch, or uploads the newest edition.
    pub(super) async fn bring(&self, client: &mut Client) -> anyhow::Result<crate::http::Answer> {
        match self.way {
            Way::Fetched(_) => client.post(&format!("{}/fetch", self.path()), &json!({})).await,
            Way::Uploaded => {
                let edition = self.editions.values().next_back().context("an edition")?;
                let path = format!("{}/uploads?name={}", self.path(), edition.name());
                client.ask("POST", &path, "", &edition.body).await
            }
        }
    }

    pub(super) fn note(&mut self, answer: &crate::http::Answer) -> anyhow::Result<()> {
        // It had no time, or does not know what became of it; what it took all the same is in the history.
        if answer.status == 503 {
            return Ok(());
        }
        if answer.status != 202 {
            bail!("{} answered {}: {}", self.path(), answer.status, String::from_utf8_lossy(&answer.body));
        }
        if self.way == Way::Uploaded {
            let task = answer.json()?["task_id"].as_str().and_then(|id| id.parse().ok());
            let newest = self.editions.keys().next_back().copied().unwrap_or_default();
            let before = self.acknowledged.insert(task.context("a load's number")?, newest);
            ensure!(before.is_none(), "{}: two uploads were given the number {task:?}", self.path());
        }
        Ok(())
    }

    /// The newest load, if there is one.
    pub(super) async fn newest(&self, client: &mut Client) -> anyhow::Result<Option<Value>> {
        let page = get(client, &format!("{}/tasks?limit=1", self.path())).await?;
        Ok(page["items"].get(0).cloned())
    }
}

pub(super) fn is_final(load: &Value) -> bool {
    !matches!(load["status"].as_str(), Some("queued" | "in_progress" | "needs_confirmation"))
}
