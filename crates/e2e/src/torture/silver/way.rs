//! The whole way through a running program: a feed of a mapped seller becomes gold; a seller with many offers is mapped while
//! these change; an offer moves while its parts are on their way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::check::{found, settles, shipments};
use crate::http::Client;
use crate::load::offers::easy_category;
use crate::program::Program;
use crate::torture::cabinet::get;

/// How long a load of many offers may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(100);
const JSON: &str = "content-type: application/json\r\nif-match: *\r\n";

/// The shop whose offer moves.
const MOVER_SHOP: u32 = 3;

/// A business of this run with shops of its own.
pub struct Way<'a> {
    program: &'a Program,
    client: Client,
    business: u32,
    run: String,
}

impl<'a> Way<'a> {
    pub async fn new(program: &'a Program, business: u32) -> anyhow::Result<Self> {
        let client = Client::connect(program.http).await?;
        Ok(Self { program, client, business, run: kit::random_id() })
    }

    fn seller(&self, name: &str) -> String {
        format!("{name}-{}", self.run)
    }

    async fn map(&mut self, business: u32, shop: u32, seller: &str) -> anyhow::Result<()> {
        let path = format!("/v1/businesses/{business}/shops/{shop}");
        let body = json!({"seller_id": seller, "colour": "BLUE"}).to_string();
        self.client.ask("PUT", &path, JSON, body.as_bytes()).await?.expect(200)?;
        Ok(())
    }

    /// Uploads a feed and gives the load's number.
    async fn upload(&mut self, seller: &str, lines: &str) -> anyhow::Result<String> {
        let path = format!("/v1/sellers/{seller}/feeds/default/uploads?name=goods.jsonl");
        let answer = self.client.ask("POST", &path, "", lines.as_bytes()).await?.expect(202)?.json()?;
        Ok(answer["task_id"].as_str().context("a load's number")?.to_owned())
    }

    async fn loaded(&mut self, seller: &str, task: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let path = format!("/v1/sellers/{seller}/feeds/default/tasks/{task}");
            let load = get(&mut self.client, &path).await?;
            match load["status"].as_str() {
                Some("succeeded") => return Ok(()),
                Some("queued" | "in_progress") if began.elapsed() < PATIENCE => {
                    tokio::time::sleep(LOOK).await;
                }
                _ => bail!("the load ended so: {load}"),
            }
        }
    }

    /// feed → offers → united → silver → gold; a price ships nothing, a weight once.
    pub async fn feed_to_gold(&mut self) -> anyhow::Result<()> {
        let (seller, business) = (self.seller("feed"), self.business);
        self.map(business, 1, &seller).await?;
        let before = shipments(&mut self.client).await?;
        for (weight, price) in [(30, 100), (30, 90), (31, 90)] {
            let task = self.upload(&seller, &line("sofa-1", weight, price)).await?;
            self.loaded(&seller, &task).await?;
        }
        let milligrams = 31_000_000;
        let made = async |client: &mut Client| {
            let gold = found(client, &format!("/v1/gold/{business}/sofa-1")).await?.context("no gold yet")?;
            ensure!(of(&gold, "weight")["values"] == json!([milligrams]), "{gold}");
            Ok(gold)
        };
        let gold = settles(&mut self.client, made).await?;
        ensure!(of(&gold, "weight")["candidates"][0]["shop_id"] == 1, "{gold}");
        let united = get(&mut self.client, &format!("/v1/united/{business}/sofa-1")).await?;
        ensure!(united["service"]["1"]["price"]["minor"] == "9000", "{united}");
        let shipped = shipments(&mut self.client).await? - before;
        ensure!(shipped == 2, "new and a weight are two shipments, a price is none: {shipped}");
        Ok(())
    }

    /// A seller with this number of offers is mapped, and all of them change while they are walked over.
    pub async fn late_mapping(&mut self, offers: usize) -> anyhow::Result<()> {
        let (seller, business) = (self.seller("late"), self.business);
        let lines = |weight: usize| -> String {
            (0..offers).map(|number| line(&format!("late-{number}"), weight + number % 7, 100)).collect()
        };
        let task = self.upload(&seller, &lines(10)).await?;
        self.loaded(&seller, &task).await?;
        self.map(business, 2, &seller).await?;
        let task = self.upload(&seller, &lines(20)).await?;
        self.loaded(&seller, &task).await?;
        for number in 0..offers {
            let sku = format!("late-{number}");
            let milligrams = ((20 + number % 7) * 1_000_000) as i64;
            let arrived = async |client: &mut Client| {
                let path = format!("/v1/silver/{business}/{sku}");
                let silver =
                    found(client, &path).await?.with_context(|| format!("{sku} is not in silver"))?;
                let parts = silver["records"][0]["parts"].as_array().cloned().unwrap_or_default();
                let own =
                    parts.iter().find(|part| part["shop_id"] == 2).with_context(|| format!("{silver}"))?;
                let values = own["values"].as_array().cloned().unwrap_or_default();
                let weight = values.iter().find(|value| value["parameter"] == "weight");
                let weight = weight.map(|weight| weight["values"].clone()).unwrap_or_default();
                ensure!(weight == json!([milligrams]), "{sku}: {milligrams} in the feed, {weight} in silver");
                Ok(())
            };
            settles(&mut self.client, arrived).await?;
        }
        Ok(())
    }

    /// An offer moves to another business and back while its seller changes it all the time.
    pub async fn migration_in_flight(&mut self) -> anyhow::Result<()> {
        let (seller, home, other) = (self.seller("mover"), self.business, self.business + 1);
        self.map(home, MOVER_SHOP, &seller).await?;
        let category = easy_category(&catalog::Catalog::shipped());
        let body = json!({"seller_id": seller, "category": {"id": category}, "title": title(0),
            "price": {"amount": "100.00", "currency": "RUB"}});
        let offer = self.client.post("/v1/offers", &body).await?.expect(201)?.json()?;
        let id = offer["id"].as_str().context("an offer's id")?.to_owned();
        let mut changer = Client::connect(self.program.http).await?;
        let (is_over, mut last) = (AtomicBool::new(false), 0);
        let changes = async {
            let path = format!("/v1/offers/{id}");
            // One more after the last move.
            for number in 1.. {
                let is_last = is_over.load(Ordering::Relaxed);
                let body = json!({"title": title(number)}).to_string();
                changer.ask("PATCH", &path, JSON, body.as_bytes()).await?.expect(200)?;
                last = number;
                if is_last {
                    break;
                }
            }
            Ok(())
        };
        let (client, run) = (&mut self.client, &self.run);
        let moves = async {
            for (number, way) in [[home, other], [other, home], [home, other]].into_iter().enumerate() {
                migrate(client, &format!("{run}-{number}"), way, &id).await?;
            }
            is_over.store(true, Ordering::Relaxed);
            Ok::<_, anyhow::Error>(())
        };
        futures::future::try_join(changes, moves).await?;
        let at_home = async |client: &mut Client| {
            let target =
                found(client, &format!("/v1/silver/{other}/{id}")).await?.context("not at its new home")?;
            let gold = found(client, &format!("/v1/gold/{other}/{id}")).await?.context("no gold")?;
            ensure!(target["shops"] == json!([MOVER_SHOP]), "{target}");
            ensure!(of(&gold, "name")["values"] == json!([title(last)]), "{gold}");
            let source = found(client, &format!("/v1/silver/{home}/{id}")).await?;
            ensure!(source.is_none_or(|source| source["shops"] == json!([])), "it lives in two homes");
            ensure!(
                found(client, &format!("/v1/gold/{home}/{id}")).await?.is_none(),
                "gold at the former home"
            );
            Ok(())
        };
        settles(&mut self.client, at_home).await?;
        // Home again, and nobody changes it any more.
        migrate(&mut self.client, &format!("{}-back", self.run), [other, home], &id).await?;
        let is_back = async |client: &mut Client| {
            let silver = found(client, &format!("/v1/silver/{home}/{id}")).await?.context("not at home")?;
            ensure!(silver["shops"] == json!([MOVER_SHOP]), "{silver}");
            Ok(())
        };
        settles(&mut self.client, is_back).await
    }
}

/// Asks for a migration once the source has the offer, and waits for its answer.
async fn migrate(client: &mut Client, request: &str, way: [u32; 2], id: &str) -> anyhow::Result<()> {
    let [source, target] = way;
    let is_there = async |client: &mut Client| {
        let offer = found(client, &format!("/v1/united/{source}/{id}")).await?.context("not yet")?;
        let part = &offer["service"][MOVER_SHOP.to_string()];
        ensure!(part.is_object() && part["status"]["removed"]["flag"] != true, "not yet: {offer}");
        Ok(())
    };
    settles(client, is_there).await?;
    let body = json!({"request_id": request, "source_business_id": source, "target_business_id": target,
        "shop_sku": id});
    client.post("/v1/migrations", &body).await?.expect(202)?;
    let is_done = async |client: &mut Client| {
        let asked = get(client, &format!("/v1/migrations?business_id={target}&limit=1000")).await?;
        let items = asked["items"].as_array().cloned().unwrap_or_default();
        let own = items.into_iter().find(|item| item["request_id"] == request).unwrap_or_default();
        ensure!(own["state"] == "done" && own["note"] == "", "{own}");
        Ok(())
    };
    settles(client, is_done).await
}

fn title(number: u32) -> String {
    format!("Диван номер {number}")
}

fn line(id: &str, kilograms: usize, price: u32) -> String {
    json!({"id": id, "title": "Диван угловой", "category": "Диваны", "price": price.to_string(),
        "address": "Москва", "weight": {"value": kilograms.to_string(), "unit": "kg"}})
    .to_string()
        + "\n"
}

/// A parameter of a golden record.
fn of(gold: &Value, parameter: &str) -> Value {
    let values = gold["values"].as_array().cloned().unwrap_or_default();
    values.into_iter().find(|value| value["parameter"] == parameter).unwrap_or_default()
}
