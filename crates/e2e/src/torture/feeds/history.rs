//! The history of a feed must tell of every load once, and each load's books must balance.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::Report;
use super::edition::{Edition, Kind, number_of};
use super::seller::{Feed, Way};
use crate::http::Client;
use crate::torture::cabinet::pages;

/// The loads of a feed, oldest first.
pub(super) async fn loads(client: &mut Client, feed: &Feed) -> anyhow::Result<Vec<Value>> {
    let mut loads = pages(client, &format!("{}/tasks?limit=100", feed.path())).await?;
    loads.reverse();
    Ok(loads)
}

/// What came of all loads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Balance {
    pub(super) created: i64,
    pub(super) deleted: i64,
}

pub(super) fn balance(loads: &[Value]) -> Balance {
    let sum = |field: &str| loads.iter().filter_map(|load| load["statistics"][field].as_i64()).sum();
    Balance { created: sum("created"), deleted: sum("deleted") }
}

/// Every load is there once and ended as its file deserves.
pub(super) async fn adds_up(
    client: &mut Client,
    feed: &Feed,
    loads: &[Value],
    report: &mut Report,
) -> anyhow::Result<()> {
    let numbers: Vec<i64> = loads.iter().filter_map(number).collect();
    let expected: Vec<i64> = (1..=loads.len() as i64).collect();
    ensure!(numbers == expected, "{}: the loads are {numbers:?}", feed.path());
    uploads_are_there(feed, loads, report)?;
    let mut files = 0;
    for load in loads {
        judge(feed, load, report).with_context(|| format!("{}: {load}", feed.path()))?;
        files += u64::from(load["source"] == "url" && load["progress"]["bytes_total"] != 0);
        errors_are_listed(client, feed, load, report)
            .await
            .with_context(|| format!("{}: {load}", feed.path()))?;
    }
    report.loads += loads.len() as u64;
    if let Way::Uploaded = feed.way {
        ensure!(files == 0, "{}: loads from a url that it does not have", feed.path());
    }
    Ok(())
}

/// How many loads were made of downloads.
pub(super) fn from_files(loads: &[Value]) -> u64 {
    let has_file = |load: &&Value| load["source"] == "url" && load["progress"]["bytes_total"] != 0;
    loads.iter().filter(has_file).count() as u64
}

fn number(load: &Value) -> Option<i64> {
    load["task_id"].as_str()?.parse().ok()
}

/// Every upload that was acknowledged is a load under its number, and none is two loads.
fn uploads_are_there(feed: &Feed, loads: &[Value], report: &mut Report) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    for load in loads.iter().filter(|load| load["source"] == "upload") {
        let name = load["source_name"].as_str().unwrap_or_default();
        ensure!(names.insert(name), "{}: {name} was uploaded once and loaded twice", feed.path());
    }
    for (task, edition) in &feed.acknowledged {
        let name = format!("edition-{edition}");
        let load = loads.get(*task as usize - 1).context("an acknowledged load that is not there")?;
        ensure!(load["source_name"] == name.as_str(), "{}: load {task} is not {name}: {load}", feed.path());
    }
    report.uploads_acknowledged += feed.acknowledged.len() as u64;
    report.uploads_unacknowledged += (names.len() - feed.acknowledged.len()) as u64;
    Ok(())
}

/// Whether a load ended as it must.
fn judge(feed: &Feed, load: &Value, report: &mut Report) -> anyhow::Result<()> {
    let code = load["error"]["code"].as_str().unwrap_or_default();
    let count = |field: &str| load["statistics"][field].as_u64().unwrap_or_default();
    report.follow_ups += u64::from(load["source"] == "follow_up");
    match load["status"].as_str().unwrap_or_default() {
        "succeeded" => {
            let edition = edition(feed, load)?;
            ensure!(edition.kind == Kind::Good, "a broken file succeeded");
            ensure!(count("total") == edition.records, "{} of {} records", count("total"), edition.records);
            ensure!(count("rejected") == edition.rejected, "{} are rejected", count("rejected"));
            ensure!(count("duplicate") == edition.duplicates, "{} are repeated", count("duplicate"));
            let progress = &load["progress"];
            ensure!(progress["batches_sent"] == progress["batches_acknowledged"], "batches");
            report.succeeded += 1;
            report.records += edition.records;
        }
        "failed" => {
            let of_download = code == "fetch_truncated" && load["source"] == "url";
            let of_file = matches!(code, "xml_top_level" | "xml_root_unknown");
            ensure!(of_download || of_file, "it may not fail for this reason");
            ensure!(count("deleted") + count("made_manual") == 0, "a failed load took something away");
            report.failed += 1;
        }
        "unchanged" => {
            ensure!(load["source"] == "url" && count("total") == 0, "nothing was loaded");
            report.unchanged += 1;
        }
        status => bail!("it may not be {status}"),
    }
    Ok(())
}

/// The edition of a load: as many records have no other.
pub(super) fn edition<'a>(feed: &'a Feed, load: &Value) -> anyhow::Result<&'a Edition> {
    let records = load["progress"]["offers"].as_u64().unwrap_or_default();
    let found = number_of(records).and_then(|number| feed.editions.get(&number));
    let found = found.with_context(|| format!("there never was a file of {records} records"))?;
    let name = load["source_name"].as_str().unwrap_or_default();
    if feed.way == Way::Uploaded {
        ensure!(name == found.name(), "{name} has the records of {}", found.name());
    }
    Ok(found)
}

/// The totals equal the list.
async fn errors_are_listed(
    client: &mut Client,
    feed: &Feed,
    load: &Value,
    report: &mut Report,
) -> anyhow::Result<()> {
    let path =
        format!("{}/tasks/{}/errors?limit=1000", feed.path(), load["task_id"].as_str().unwrap_or_default());
    let listed = pages(client, &path).await?;
    let statistics = &load["statistics"];
    let level = |level: &str| listed.iter().filter(|error| error["level"] == level).count();
    ensure!(
        statistics["errors"] == level("error") && statistics["warnings"] == level("warning"),
        "{} errors and {} warnings are listed",
        level("error"),
        level("warning")
    );
    let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
    for error in &listed {
        *by_type.entry(error["type"].as_str().unwrap_or_default()).or_default() += 1;
    }
    ensure!(statistics["by_type"] == serde_json::json!(by_type), "{by_type:?} are listed");
    report.errors += listed.len() as u64;
    Ok(())
}
