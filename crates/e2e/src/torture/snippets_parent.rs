//! The parent of the snippets' kill test: writes over HTTP, kills, and looks whether everything acknowledged is there.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::snippets_child::{BAD_EVERY, key};
use super::{Plan, Report};
use crate::http::{Answer, Client};

const WRITERS: usize = 8;
const KEYS_EACH: usize = 25;
/// How long anything may take before the test says that it hangs.
const HANG: Duration = Duration::from_secs(60);

/// What one key should hold: the last acknowledged value (none: deleted), and what may have become of it since.
#[derive(Clone, Debug, Default)]
struct Held {
    acknowledged: Option<u64>,
    pending: Option<Option<u64>>,
}

#[derive(Default)]
struct Ledger {
    held: Vec<Vec<Held>>,
    /// The next message of the topic, and those that were acknowledged and not seen since.
    next_message: u64,
    messages: BTreeSet<u64>,
    bad_messages: BTreeSet<u64>,
}

pub async fn run(program: &Path, folder: &Path, plan: &Plan) -> anyhow::Result<Report> {
    let mut rng = StdRng::seed_from_u64(plan.seed);
    let mut report = Report::default();
    let mut ledger = Ledger {
        held: vec![vec![Held::default(); KEYS_EACH]; WRITERS],
        next_message: 1,
        ..Ledger::default()
    };
    for life in 0..=plan.kills {
        let load = Duration::from_millis(rng.random_range(10..700));
        let seed = rng.random();
        one_life(program, folder, load, seed, plan, &mut ledger, &mut report)
            .await
            .with_context(|| format!("life {life} of seed {}", plan.seed))?;
        report.kills += u32::from(life < plan.kills);
    }
    Ok(report)
}

async fn one_life(
    program: &Path,
    folder: &Path,
    load: Duration,
    seed: u64,
    plan: &Plan,
    ledger: &mut Ledger,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(["snippets", "child"])
        .arg(folder)
        .arg(ledger.next_message.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("a stdout")?).lines();
    let host = tokio::time::timeout(HANG, listening(&mut lines)).await.context("it does not start")??;
    let reopened = began.elapsed();
    report.slowest_reopen_ms = report.slowest_reopen_ms.max(reopened.as_millis());
    ensure!(reopened <= plan.patience, "a restart took {} ms", reopened.as_millis());
    check_held(host, ledger, report).await?;
    check_messages(host, ledger).await?;
    let writers: Vec<_> = std::mem::take(&mut ledger.held)
        .into_iter()
        .enumerate()
        .map(|(writer, held)| tokio::spawn(write(host, writer, held, seed ^ writer as u64)))
        .collect();
    tokio::time::sleep(load).await;
    kill(&mut child).await?;
    for writer in writers {
        let (held, acknowledged) = writer.await?;
        ledger.held.push(held);
        report.acknowledged += acknowledged;
    }
    // What it said before its death is in the pipe.
    while let Some(line) = lines.next_line().await? {
        note(ledger, &line, report)?;
    }
    Ok(())
}

async fn listening(lines: &mut Lines<BufReader<ChildStdout>>) -> anyhow::Result<SocketAddr> {
    let line = lines.next_line().await?.context("the child ended by itself")?;
    Ok(line.strip_prefix("listening ").with_context(|| format!("the child said {line:?}"))?.parse()?)
}

async fn kill(child: &mut Child) -> anyhow::Result<()> {
    if let Some(status) = child.try_wait()? {
        bail!("the child ended by itself: {status}");
    }
    Ok(child.kill().await?)
}

fn note(ledger: &mut Ledger, line: &str, report: &mut Report) -> anyhow::Result<()> {
    let (word, number) = line.split_once(' ').with_context(|| format!("the child said {line:?}"))?;
    let number: u64 = number.parse()?;
    if word == "ack" {
        report.acknowledged += 1;
        let of =
            if number.is_multiple_of(BAD_EVERY) { &mut ledger.bad_messages } else { &mut ledger.messages };
        of.insert(number);
    }
    ledger.next_message = ledger.next_message.max(number + 1);
    Ok(())
}

/// PUTs and DELETEs one key after another until the server is gone.
async fn write(host: SocketAddr, writer: usize, mut held: Vec<Held>, seed: u64) -> (Vec<Held>, u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut acknowledged = 0;
    let Ok(mut client) = Client::connect(host).await else { return (held, acknowledged) };
    loop {
        let place = rng.random_range(0..held.len());
        let value = (rng.random_range(0..4) > 0).then(|| rng.random_range(0..1_000_000_000));
        held[place].pending = Some(value);
        let path = format!("/held/w{writer}-{place}");
        let called = match value {
            Some(value) => call(&mut client, "PUT", &path, format!("{{\"n\": {value}}}").as_bytes()).await,
            None => call(&mut client, "DELETE", &path, b"").await,
        };
        if called.and_then(|answer| answer.expect(200)).is_err() {
            return (held, acknowledged);
        }
        held[place] = Held { acknowledged: value, pending: None };
        acknowledged += 1;
    }
}

async fn call(client: &mut Client, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Answer> {
    client.ask(method, path, "content-type: json\r\n", body).await
}

async fn check_held(host: SocketAddr, ledger: &mut Ledger, report: &mut Report) -> anyhow::Result<()> {
    let mut client = Client::connect(host).await?;
    for (writer, held) in ledger.held.iter_mut().enumerate() {
        for (place, held) in held.iter_mut().enumerate() {
            let Answer { status, body, .. } = client.get(&format!("/held/w{writer}-{place}")).await?;
            let found = match status {
                404 => None,
                200 => serde_json::from_slice::<serde_json::Value>(&body)?["held"]["n"].as_u64(),
                status => bail!("a read was answered {status}: {}", String::from_utf8_lossy(&body)),
            };
            let expected = found == held.acknowledged || held.pending == Some(found);
            ensure!(expected, "key w{writer}-{place} holds {found:?}, but should {held:?}");
            report.unacknowledged_kept += u64::from(found != held.acknowledged);
            *held = Held { acknowledged: found, pending: None };
        }
    }
    Ok(())
}

/// Every acknowledged message becomes a snippet or a dead letter, sooner or later.
async fn check_messages(host: SocketAddr, ledger: &mut Ledger) -> anyhow::Result<()> {
    let mut client = Client::connect(host).await?;
    let began = Instant::now();
    while let Some(number) = ledger.messages.first().copied() {
        let Answer { status, body, .. } = client.get(&format!("/news/{}", key(number))).await?;
        if status == 200 {
            let found = serde_json::from_slice::<serde_json::Value>(&body)?["news"]["n"].as_u64();
            ensure!(found == Some(number), "message {number} became {found:?}");
            ledger.messages.pop_first();
        } else {
            ensure!(began.elapsed() < HANG, "message {number} was skipped");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    while !ledger.bad_messages.is_empty() {
        let letters = dead_letters(&mut client).await?;
        ledger.bad_messages.retain(|number| !letters.contains(&key(*number)));
        ensure!(
            began.elapsed() < HANG || ledger.bad_messages.is_empty(),
            "bad messages without a letter: {:?}",
            ledger.bad_messages
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

async fn dead_letters(client: &mut Client) -> anyhow::Result<BTreeSet<String>> {
    let mut keys = BTreeSet::new();
    let mut path = "/-/dead-letters?limit=1000".to_owned();
    loop {
        let page: serde_json::Value = client.get(&path).await?.expect(200)?.json()?;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        keys.extend(items.iter().filter_map(|item| item["key"].as_str()).map(str::to_owned));
        let Some(cursor) = page["next_cursor"].as_str() else { return Ok(keys) };
        path = format!("/-/dead-letters?limit=1000&cursor={cursor}");
    }
}
