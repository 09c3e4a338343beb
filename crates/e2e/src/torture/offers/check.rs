//! What must be true when the last life has settled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use serde_json::{Value, json};
use wire::feeds::feed_result::Kind;
use wire::feeds::terminal_result::End;
use wire::feeds::{FeedResult, Tally};
use wire::offers::OfferChange;

use super::feed::NAMESPACE;
use super::{Feed, Report, Writer};
use crate::http::Client;
use crate::program::Program;
use crate::torture::cabinet::{lists_add_up, nothing_has_drifted};

/// How long the last life may take to work off what is left.
const PATIENCE: Duration = Duration::from_secs(120);
const GROUP: &str = "torture";

pub(super) async fn everything(
    program: &Program,
    writers: &mut [Writer],
    feeds: &[Feed],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut client = Client::connect(program.http).await?;
    results_are_complete(&mut client, feeds, report).await?;
    for writer in writers.iter_mut() {
        acknowledged_is_there(&mut client, writer).await?;
        report.acknowledged += writer.acknowledged;
    }
    let mut versions = BTreeMap::new();
    let people = writers.iter().map(|writer| writer.seller.as_str());
    for seller in people.chain(feeds.iter().map(|feed| feed.seller.as_str())) {
        let offers = lists_add_up(&mut client, seller).await?;
        versions.extend(offers.iter().map(|offer| {
            (offer["id"].as_str().unwrap_or_default().to_owned(), offer["version"].as_i64().unwrap_or(0))
        }));
        if let Some(feed) = feeds.iter().find(|feed| feed.seller == seller) {
            let present = |offer: &Value| offer["origin"]["external_id"].as_str().map(str::to_owned);
            let found: BTreeSet<_> = offers.iter().filter_map(present).collect();
            ensure!(found == feed.present, "{seller}: the offers are not those of the last load");
            report.feed_tasks += feed.task;
        }
    }
    report.offers = versions.len();
    events_are_complete(&mut client, &versions, report).await?;
    nothing_has_drifted(program)
}

async fn acknowledged_is_there(client: &mut Client, writer: &mut Writer) -> anyhow::Result<()> {
    let ids: Vec<_> = writer.known.keys().cloned().collect();
    for id in ids {
        let answer = client.get(&format!("/v1/offers/{id}")).await?;
        writer.compare(&id, &answer)?;
    }
    Ok(())
}

/// Every batch of every load has its result, every load its end, and the totals are the sums.
async fn results_are_complete(
    client: &mut Client,
    feeds: &[Feed],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut batches: BTreeMap<(String, i64), BTreeMap<i64, Tally>> = BTreeMap::new();
    let mut ends: BTreeMap<(String, i64), (End, Tally)> = BTreeMap::new();
    let wanted: usize = feeds.iter().map(|feed| feed.batches.len()).sum();
    let began = Instant::now();
    while ends.len() < wanted {
        ensure!(began.elapsed() < PATIENCE, "{} of {wanted} loads have ended", ends.len());
        for result in read::<FeedResult>(client, "feed.results").await? {
            // Others may bring feeds too.
            if !feeds.iter().any(|feed| feed.seller == result.seller_id) {
                continue;
            }
            report.results += 1;
            let task = (result.seller_id, result.task_id);
            ensure!(result.namespace == NAMESPACE, "a result of another namespace");
            match result.kind {
                Some(Kind::Batch(batch)) => {
                    let tally = batch.tally.unwrap_or_default();
                    let known = batches.entry(task.clone()).or_default().insert(batch.number, tally);
                    let same = known.is_none_or(|known| known == tally);
                    ensure!(same, "{task:?}: batch {} has two results that differ", batch.number);
                }
                Some(Kind::Terminal(end)) => {
                    ends.insert(task, (end.end(), end.totals.unwrap_or_default()));
                }
                Some(Kind::Held(_)) => bail!("{task:?} is held without a guard"),
                _ => {}
            }
        }
    }
    for feed in feeds {
        for (place, count) in feed.batches.iter().enumerate() {
            let task = (feed.seller.clone(), place as i64 + 1);
            let found = batches.remove(&task).unwrap_or_default();
            let numbers: Vec<_> = found.keys().copied().collect();
            ensure!(
                numbers == (1..=*count).collect::<Vec<_>>(),
                "{task:?}: results of {numbers:?} of {count}"
            );
            let (end, totals) = ends[&task];
            ensure!(end == End::Done, "{task:?} ended {end:?}");
            let offers = |tally: &Tally| tally.created + tally.updated + tally.unchanged;
            let sum: i64 = found.values().map(offers).sum();
            ensure!(sum == offers(&totals), "{task:?}: {totals:?} is not the sum of its batches, {sum}");
        }
    }
    Ok(())
}

/// The topic has every version of every offer, in order; a repeat may follow, a gap may not.
async fn events_are_complete(
    client: &mut Client,
    versions: &BTreeMap<String, i64>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut seen: BTreeMap<String, i64> = BTreeMap::new();
    let began = Instant::now();
    loop {
        for change in read::<OfferChange>(client, "offers.changes").await? {
            let offer = change.offer.context("an event without an offer")?;
            let id = offers::changes::printed(offer.id);
            let last = seen.entry(id.clone()).or_insert(0);
            report.events += 1;
            if change.version <= *last {
                report.repeated_events += 1;
            } else {
                ensure!(change.version == *last + 1, "{id}: version {} follows {last}", change.version);
                *last = change.version;
            }
        }
        // A stage may have written since the versions were read.
        let behind = versions.iter().find(|(id, version)| seen.get(*id).is_none_or(|last| last < *version));
        let Some((id, version)) = behind else { return Ok(()) };
        ensure!(
            began.elapsed() < PATIENCE,
            "{id} has the version {version}, its last event is {:?}",
            seen.get(id)
        );
    }
}

/// What the group has not read yet, up to some records; waits a little where there is nothing.
async fn read<M: Message + Default>(client: &mut Client, topic: &str) -> anyhow::Result<Vec<M>> {
    let path = format!("/v1/topics/{topic}/records?group={GROUP}&limit=1000&encoding=base64");
    let answer = client.get(&path).await?.expect(200)?.json()?;
    let records = answer["items"].as_array().context("records")?;
    let mut next: BTreeMap<i64, i64> = BTreeMap::new();
    let mut messages = Vec::new();
    for record in records {
        let payload = record["payload"].as_str().context("a payload in base64")?;
        messages.push(M::decode(BASE64_STANDARD.decode(payload)?.as_slice())?);
        let (partition, offset) = (record["partition"].as_i64(), record["offset"].as_i64());
        let (partition, offset) = (partition.context("a partition")?, offset.context("an offset")?);
        let end = next.entry(partition).or_default();
        *end = (*end).max(offset + 1);
    }
    if next.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        return Ok(messages);
    }
    let positions: Vec<_> =
        next.into_iter().map(|(partition, next)| json!({"partition": partition, "next": next})).collect();
    let commit = json!({"group": GROUP, "positions": positions});
    client.post(&format!("/v1/topics/{topic}/commit"), &commit).await?.expect(204)?;
    Ok(messages)
}
