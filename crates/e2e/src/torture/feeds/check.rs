//! What must be true when the last life has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::Report;
use super::edition::Kind;
use super::history::{self, Balance};
use super::seller::{Feed, Way, is_final};
use super::shop::{Manners, Shop};
use crate::http::Client;
use crate::program::Program;
use crate::torture::cabinet::{get, lists_add_up, nothing_has_drifted, pages};

/// How long the last life may take for each thing that is waited for.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(50);

pub(super) async fn everything(
    program: &Program,
    shop: &Shop,
    feeds: &mut [Feed],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut client = Client::connect(program.http).await?;
    for feed in feeds.iter_mut() {
        feed.begin(shop);
        made(&mut client, shop, feed).await?;
        settled(&mut client, feed).await?;
    }
    for feed in feeds.iter_mut() {
        what_was_there_is_right(&mut client, feed).await?;
        nothing_goes_on_account_of_a_failure(&mut client, shop, feed).await?;
        the_last_file_counts(&mut client, shop, feed).await?;
        an_unchanged_file_is_not_loaded(&mut client, shop, feed).await?;
    }
    for feed in feeds.iter() {
        let loads = history::loads(&mut client, feed).await?;
        history::adds_up(&mut client, feed, &loads, report).await?;
        if let Way::Fetched(shelf) = feed.way {
            let seen = shop.seen(shelf);
            let files = history::from_files(&loads);
            ensure!(files <= seen.whole, "{}: {files} loads of {} files", feed.path(), seen.whole);
            report.downloads_whole += seen.whole;
            report.downloads_broken_off += seen.broken_off;
            report.not_modified += seen.not_modified;
        }
    }
    let sellers: BTreeSet<&str> = feeds.iter().map(|feed| feed.seller.as_str()).collect();
    for seller in sellers {
        let own = feeds.iter().filter(|feed| feed.seller == seller);
        report.offers += counts_balance(&mut client, seller, own).await?;
    }
    no_lock_is_left(&mut client).await?;
    nothing_has_drifted(program)
}

/// The feed is there, even if no life before had time to make it.
async fn made(client: &mut Client, shop: &Shop, feed: &mut Feed) -> anyhow::Result<()> {
    let began = Instant::now();
    while let Err(error) = feed.make(client, shop).await {
        ensure!(began.elapsed() < PATIENCE, "{}: it cannot be made: {error:#}", feed.path());
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Waits until nothing is due or under way for the feed.
async fn settled(client: &mut Client, feed: &Feed) -> anyhow::Result<Vec<Value>> {
    let began = Instant::now();
    loop {
        let view = get(client, &feed.path()).await?;
        let loads = history::loads(client, feed).await?;
        let open = loads.iter().find(|load| !is_final(load));
        if open.is_none() && !is_due(&view)? {
            return Ok(loads);
        }
        ensure!(began.elapsed() < PATIENCE, "{}: it does not come to rest: {view} {open:?}", feed.path());
        tokio::time::sleep(LOOK).await;
    }
}

fn is_due(feed: &Value) -> anyhow::Result<bool> {
    let next: Option<kit::Timestamp> = serde_json::from_value(feed["next_fetch_at"].clone())?;
    Ok(next.is_some_and(|next| next <= kit::Clock::system().now()))
}

/// Prices of the feed's own offers, by external id.
async fn offers_of(client: &mut Client, feed: &Feed) -> anyhow::Result<BTreeMap<String, u64>> {
    let all = pages(client, &format!("/v1/sellers/{}/offers?preset=all&limit=100", feed.seller)).await?;
    let own = all.iter().filter(|offer| offer["origin"]["namespace"] == feed.namespace);
    own.map(|offer| {
        let id = offer["origin"]["external_id"].as_str().context("an offer of a feed without its id")?;
        let price = offer["price"]["amount"].as_str().and_then(|amount| amount.parse::<f64>().ok());
        Ok((id.to_owned(), price.context("an offer without a price")? as u64))
    })
    .collect()
}

/// Waits until the offers are exactly these.
async fn offers_become(
    client: &mut Client,
    feed: &Feed,
    expected: &BTreeMap<String, u64>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let found = offers_of(client, feed).await?;
        if found == *expected {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            let missing = expected.iter().filter(|(id, price)| found.get(*id) != Some(price)).count();
            let extra = found.keys().filter(|id| !expected.contains_key(*id)).count();
            anyhow::bail!(
                "{}: {missing} offers are missing or differ, {extra} should not be there",
                feed.path()
            );
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// When the last load that did anything was a good one, the offers are those of its file.
async fn what_was_there_is_right(client: &mut Client, feed: &Feed) -> anyhow::Result<()> {
    let loads = settled(client, feed).await?;
    // What a broken file did before its fault may not be counted yet.
    let effective =
        |load: &&Value| load["statistics"]["total"] != 0 || load["error"]["code"] == "xml_top_level";
    match loads.iter().rfind(effective) {
        Some(last) if last["status"] == "succeeded" && last["statistics"]["skipped"] == 0 => {
            offers_become(client, feed, &history::edition(feed, last)?.offers).await
        }
        _ => Ok(()),
    }
}

/// A download that breaks off, and a page that is no feed: nothing goes.
async fn nothing_goes_on_account_of_a_failure(
    client: &mut Client,
    shop: &Shop,
    feed: &mut Feed,
) -> anyhow::Result<()> {
    let before = offers_of(client, feed).await?;
    if let Way::Fetched(shelf) = feed.way {
        feed.print(Kind::Good, shop);
        shop.mind(shelf, Manners::NeverWhole);
        brought(client, feed, |load| load["error"]["code"] == "fetch_truncated").await?;
        settled(client, feed).await?;
        shop.mind(shelf, Manners::AlwaysWhole);
    }
    feed.print(Kind::NoFeed, shop);
    brought(client, feed, |load| load["error"]["code"] == "xml_root_unknown").await?;
    ensure!(before == offers_of(client, feed).await?, "{}: a failed load changed the offers", feed.path());
    Ok(())
}

/// The feed can still be loaded, and its offers are then exactly those of the file.
async fn the_last_file_counts(client: &mut Client, shop: &Shop, feed: &mut Feed) -> anyhow::Result<()> {
    let edition = feed.print(Kind::Good, shop);
    let records = edition.records;
    brought(client, feed, |load| load["status"] == "succeeded" && load["progress"]["offers"] == records)
        .await?;
    offers_become(client, feed, &edition.offers).await?;
    settled(client, feed).await.map(drop)
}

async fn an_unchanged_file_is_not_loaded(
    client: &mut Client,
    shop: &Shop,
    feed: &mut Feed,
) -> anyhow::Result<()> {
    let Way::Fetched(shelf) = feed.way else { return Ok(()) };
    let before = shop.seen(shelf).not_modified;
    brought(client, feed, |load| load["status"] == "unchanged").await?;
    ensure!(shop.seen(shelf).not_modified > before, "{}: the tag was not sent", feed.path());
    Ok(())
}

/// Brings the newest edition in and waits until the newest load is as it should be.
async fn brought(
    client: &mut Client,
    feed: &mut Feed,
    wanted: impl Fn(&Value) -> bool,
) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let answer = feed.bring(client).await?;
        feed.note(&answer)?;
        if answer.status == 202 {
            break;
        }
        // Only what certainly did not happen may be tried again.
        let unavailable = answer.json()?["type"] == "urn:dvor:problem:unavailable";
        ensure!(unavailable && began.elapsed() < PATIENCE, "{}: {answer:?}", feed.path());
        tokio::time::sleep(LOOK).await;
    }
    loop {
        let newest = feed.newest(client).await?.unwrap_or_default();
        if wanted(&newest) {
            return Ok(());
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "{}: the newest load does not come to where it should: {newest}",
            feed.path()
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// What the loads created and did not delete is what there is; made manual, an offer stays the seller's.
async fn counts_balance<'a>(
    client: &mut Client,
    seller: &str,
    feeds: impl Iterator<Item = &'a Feed>,
) -> anyhow::Result<u64> {
    let mut sum = Balance::default();
    for feed in feeds {
        let found = history::balance(&history::loads(client, feed).await?);
        sum = Balance { created: sum.created + found.created, deleted: sum.deleted + found.deleted };
    }
    let offers = lists_add_up(client, seller).await?.len() as i64;
    ensure!(
        sum.created - sum.deleted == offers,
        "{seller}: {} created, {} deleted, {offers} are there",
        sum.created,
        sum.deleted
    );
    Ok(offers as u64)
}

async fn no_lock_is_left(client: &mut Client) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let locks = pages(client, "/v1/admin/tables/cluster/locks?limit=100").await?;
        if locks.is_empty() {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "these locks are left: {locks:?}");
        tokio::time::sleep(LOOK).await;
    }
}
