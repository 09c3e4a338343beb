//! What must be true when the last life has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::{Owner, Report, Seller};
use crate::http::Client;
use crate::program::Program;
use crate::torture::cabinet::{get, pages};

/// How long the last life may take to work off what is left.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn everything(
    program: &Program,
    sellers: &mut [Seller],
    owner: &mut Owner,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut client = Client::connect(program.http).await?;
    owner.finish(&mut client).await?;
    report.acknowledged += owner.acknowledged;
    for seller in sellers.iter_mut() {
        seller.finish(&mut client).await?;
        report.acknowledged += seller.acknowledged;
    }
    for seller in sellers.iter() {
        settles(&mut client, async |client| migrations_are_answered(client, seller).await).await?;
    }
    for seller in sellers.iter() {
        let seen =
            settles(&mut client, async |client| united_is_the_live_offers(client, seller).await).await?;
        for (key, live) in seen {
            report.offers += 1;
            report.parts += live.len() as u64;
            let is_gold =
                settles(&mut client, async |client| silver_is_what_united_ships(client, &key).await).await?;
            report.gold += u64::from(is_gold);
        }
    }
    for (sku, _) in owner.said.keys() {
        let key = (owner.business, sku.clone());
        settles(&mut client, async |client| silver_is_what_united_ships(client, &key).await).await?;
    }
    settles(&mut client, async |client| {
        let owed = get(client, &format!("/v1/silver/failures?business_id={}", owner.business)).await?;
        ensure!(owed["items"] == json!([]), "something is still owed: {owed}");
        Ok(())
    })
    .await?;
    count_migrations(&mut client, sellers, report).await?;
    gold_ships_nothing(&mut client, owner, report).await
}

/// Looks until it holds; what does not hold in the end is the error.
pub(super) async fn settles<T>(
    client: &mut Client,
    look: impl AsyncFn(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    loop {
        match look(client).await {
            Ok(found) => return Ok(found),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(LOOK).await,
        }
    }
}

pub(super) async fn found(client: &mut Client, path: &str) -> anyhow::Result<Option<Value>> {
    let answer = client.get(path).await?;
    if answer.status == 404 {
        return Ok(None);
    }
    Ok(Some(answer.expect(200)?.json()?))
}

async fn migrations_are_answered(client: &mut Client, seller: &Seller) -> anyhow::Result<()> {
    let mut states = BTreeMap::new();
    for business in seller.businesses {
        for item in pages(client, &format!("/v1/migrations?business_id={business}&limit=1000")).await? {
            states.insert(item["request_id"].as_str().unwrap_or_default().to_owned(), item["state"].clone());
        }
    }
    for request in seller.requests.keys() {
        ensure!(states.get(request) == Some(&json!("done")), "{request}: {:?}", states.get(request));
    }
    Ok(())
}

type Key = (u32, String);

/// V2 and V3: the live parts of the seller's shop are their live offers, each in one of the two businesses.
async fn united_is_the_live_offers(
    client: &mut Client,
    seller: &Seller,
) -> anyhow::Result<BTreeMap<Key, BTreeSet<u32>>> {
    let path = format!("/v1/sellers/{}/offers?preset=all&limit=100", seller.name);
    let offers = pages(client, &path).await?;
    let is_live = |offer: &&Value| matches!(offer["status"].as_str(), Some("active" | "inactive" | "banned"));
    let titles: BTreeMap<String, Value> = offers
        .iter()
        .filter(is_live)
        .map(|offer| (offer["id"].as_str().unwrap_or_default().to_owned(), offer["title"].clone()))
        .collect();
    let listed = offers.iter().filter_map(|offer| offer["id"].as_str().map(str::to_owned));
    let ids: BTreeSet<String> = listed.chain(seller.offers.iter().cloned()).collect();
    let mut keys = BTreeMap::new();
    for id in ids {
        let mut homes = Vec::new();
        for business in seller.businesses {
            let Some(offer) = found(client, &format!("/v1/united/{business}/{id}")).await? else { continue };
            let live = live_services(&offer);
            if live.contains_key(&seller.shop) {
                homes.push(live[&seller.shop]["content"]["partner"]["original"]["name"]["value"].clone());
            }
            keys.insert((business, id.clone()), live.into_keys().collect());
        }
        let expected: Vec<_> = titles.get(&id).cloned().into_iter().collect();
        ensure!(homes == expected, "{id} of {}: {homes:?} in united, {expected:?} in offers", seller.name);
    }
    Ok(keys)
}

fn live_services(offer: &Value) -> BTreeMap<u32, &Value> {
    let services = offer["service"].as_object().into_iter().flatten();
    let live = services.filter(|(_, part)| part["status"]["removed"]["flag"] != true);
    live.filter_map(|(shop, part)| Some((shop.parse().ok()?, part))).collect()
}

/// V1: silver has the newest version of every part, markers are the live services that we keep, gold is made of them, and no
/// queue is left. Says whether there is gold.
async fn silver_is_what_united_ships(client: &mut Client, (business, sku): &Key) -> anyhow::Result<bool> {
    let united = found(client, &format!("/v1/united/{business}/{sku}")).await?.context("a united offer")?;
    let silver = found(client, &format!("/v1/silver/{business}/{sku}")).await?;
    let gold = found(client, &format!("/v1/gold/{business}/{sku}")).await?;
    let is_kept = |part: &Value| matches!(part["meta"]["rgb"].as_str(), Some("BLUE" | "DBS"));
    let live: Vec<u32> =
        live_services(&united).into_iter().filter(|(_, part)| is_kept(part)).map(|(shop, _)| shop).collect();
    let Some(silver) = silver else {
        ensure!(live.is_empty() && gold.is_none(), "{business}:{sku} is not in silver: {united}");
        return Ok(false);
    };
    ensure!(silver["shops"] == json!(live), "{business}:{sku}: {live:?} live, silver has {silver}");
    ensure!(silver["failure"].is_null(), "{business}:{sku} is owed: {silver}");
    let waits = silver["waits_for_gold"] == true || silver["waits_for_erp"] == true;
    ensure!(!waits, "{business}:{sku} waits: {silver}");
    if let Some(record) = silver["records"].get(0) {
        ensure!(silver["records"].as_array().map_or(0, Vec::len) == 1, "two records: {silver}");
        for part in record["parts"].as_array().into_iter().flatten() {
            let of = match part["shop_id"].as_u64() {
                Some(shop) => &united["service"][shop.to_string()],
                None => &united["basic"],
            };
            let version = of["meta"]["version"].as_str().and_then(|text| text.parse::<i64>().ok());
            ensure!(
                part["version"].as_i64() == version,
                "{business}:{sku}: part {part}, united has {version:?}"
            );
        }
    }
    let Some(gold) = gold else {
        ensure!(live.is_empty(), "{business}:{sku} has no gold: {silver}");
        return Ok(false);
    };
    ensure!(!live.is_empty(), "{business}:{sku} has gold of nobody: {gold}");
    let written_back = &united["basic"]["content"]["master_data"]["version"];
    ensure!(
        written_back.as_str() == gold["version"].as_i64().map(|version| version.to_string()).as_deref(),
        "{business}:{sku}: gold {} is not what united has, {written_back}",
        gold["version"]
    );
    for value in gold["values"].as_array().into_iter().flatten() {
        let shop = &value["candidates"][0]["shop_id"];
        let is_live = shop.is_null() || shop.as_u64().is_some_and(|shop| live.contains(&(shop as u32)));
        ensure!(is_live, "{business}:{sku}: {value} is of a shop that has nothing");
    }
    Ok(true)
}

/// V3: one answer per request.
async fn count_migrations(
    client: &mut Client,
    sellers: &[Seller],
    report: &mut Report,
) -> anyhow::Result<()> {
    for seller in sellers {
        for business in seller.businesses {
            let own = |item: &&Value| {
                item["request_id"].as_str().is_some_and(|id| id.starts_with(&format!("{}-", seller.name)))
            };
            let path = format!("/v1/migrations?business_id={business}&limit=1000");
            let all = pages(client, &path).await?;
            report.migrations += all.iter().filter(own).count() as u64;
            report.moved += all.iter().filter(own).filter(|item| item["note"] == "").count() as u64;
        }
    }
    Ok(())
}

pub(super) async fn shipments(client: &mut Client) -> anyhow::Result<i64> {
    let topics = get(client, "/v1/topics").await?;
    let topics = topics["items"].as_array().context("topics")?;
    let topic = topics.iter().find(|item| item["topic"] == "united.offers").context("united.offers")?;
    let high = |partition: &Value| partition["high"].as_i64().unwrap_or(0);
    Ok(topic["partitions"].as_array().into_iter().flatten().map(high).sum())
}

/// V4: other rules make all gold anew, and nothing is shipped by it.
async fn gold_ships_nothing(client: &mut Client, owner: &Owner, report: &mut Report) -> anyhow::Result<()> {
    let before = shipments(client).await?;
    report.shipments = before as u64;
    let rules = json!({"parameters": {"weight": {"choose": "min"}}}).to_string();
    let headers = "content-type: application/json\r\n";
    client.ask("PUT", "/v1/settings/gold.rules", headers, rules.as_bytes()).await?.expect(200)?;
    let mut lightest: BTreeMap<&str, i64> = BTreeMap::new();
    for ((sku, _), weight) in &owner.said {
        let known = lightest.entry(sku).or_insert(*weight);
        *known = (*known).min(*weight);
    }
    for (sku, weight) in lightest {
        settles(client, async |client| {
            let gold = get(client, &format!("/v1/gold/{}/{sku}", owner.business)).await?;
            let values = gold["values"].as_array().cloned().unwrap_or_default();
            let made = values.into_iter().find(|value| value["parameter"] == "weight").unwrap_or_default();
            ensure!(made["values"] == json!([weight]), "{sku}: the lightest is {weight}, gold has {made}");
            Ok(())
        })
        .await?;
    }
    let after = shipments(client).await?;
    if after != before {
        bail!("making gold shipped {} messages", after - before);
    }
    Ok(())
}
