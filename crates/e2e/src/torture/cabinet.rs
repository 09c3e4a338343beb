//! What a seller sees of their offers, and what must add up in it.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::http::Client;
use crate::program::{Program, dvor};

/// How long a server may say that it is busy.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// What a path answers, once the server has time for it.
pub(super) async fn get(client: &mut Client, path: &str) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let answer = client.get(path).await?;
        if answer.status != 503 || began.elapsed() > PATIENCE {
            return answer.expect(200)?.json();
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The pages of every list have as many offers as its count says, and each belongs there. Returns them all.
pub(super) async fn lists_add_up(client: &mut Client, seller: &str) -> anyhow::Result<Vec<Value>> {
    let counts = get(client, &format!("/v1/sellers/{seller}/presets")).await?;
    let counts: BTreeMap<_, _> = counts["items"]
        .as_array()
        .context("a list of presets")?
        .iter()
        .map(|item| (item["preset"].as_str().unwrap_or_default().to_owned(), item["count"].as_i64()))
        .collect();
    ensure!(counts.len() == 9, "{seller} has the lists {counts:?}");
    let mut all = Vec::new();
    for (preset, count) in counts {
        let path = format!("/v1/sellers/{seller}/offers?preset={preset}&limit=100");
        let offers = pages(client, &path).await?;
        ensure!(
            count == Some(offers.len() as i64),
            "{seller}: {preset} counts {count:?}, has {}",
            offers.len()
        );
        for offer in &offers {
            let status = offer["status"].as_str().unwrap_or_default();
            let fits = match preset.as_str() {
                "active" | "inactive" | "expired" | "banned" => status == preset,
                "sold" => status.starts_with("sold"),
                _ => status != "deleted",
            };
            ensure!(fits, "{seller}: {} is in {preset} and {status}", offer["id"]);
        }
        if preset == "all" {
            all = offers;
        }
    }
    let counters = get(client, &format!("/v1/sellers/{seller}/counters")).await?;
    let active = all.iter().filter(|offer| offer["status"] == "active").count();
    ensure!(counters["active"] == active, "{seller}: {active} active offers, the counters say {counters}");
    Ok(all)
}

/// All items of a list, page by page; the path has its first question already.
pub(super) async fn pages(client: &mut Client, path: &str) -> anyhow::Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = get(client, &format!("{path}{cursor}")).await?;
        found.extend(page["items"].as_array().context("a page")?.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(found),
        }
    }
}

/// The program's own check finds nothing to repair.
pub(super) fn nothing_has_drifted(program: &Program) -> anyhow::Result<()> {
    let output = Command::new(dvor()?).args(["fsck", "--dry-run", "--data"]).arg(program.data()).output()?;
    ensure!(
        output.status.success(),
        "dvor fsck: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
