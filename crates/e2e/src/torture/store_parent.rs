//! The parent of the store's kill test.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::{Plan, Report, folder_bytes};

/// How long anything may take before the test says that it hangs.
const HANG: Duration = Duration::from_secs(60);

/// What the children of one run have said so far.
#[derive(Default)]
struct Ledger {
    begun: HashMap<i64, i64>,
    acknowledged: HashMap<i64, i64>,
    /// Acknowledgements of the present life.
    fresh: u64,
}

/// Kills children that work on the store of `url` (in `folder`) as often as the plan says, and checks after each.
pub fn run(child: &Path, url: &str, folder: &Path, plan: &Plan) -> anyhow::Result<Report> {
    let mut rng = StdRng::seed_from_u64(plan.seed);
    let mut ledger = Ledger::default();
    let mut report = Report::default();
    for kill in 0..=plan.kills {
        // Now and then before it is even ready, most often in the middle of the work.
        let early = rng.random_range(0..6) == 0 && kill < plan.kills;
        let after =
            Duration::from_millis(if early { rng.random_range(1..200) } else { rng.random_range(20..1_200) });
        one_life(child, url, early, after, &mut ledger, &mut report, plan)
            .with_context(|| format!("life {kill} of seed {}", plan.seed))?;
        report.kills += u32::from(kill < plan.kills);
        report.most_disk_bytes = report.most_disk_bytes.max(folder_bytes(folder));
        ensure!(
            report.most_disk_bytes <= plan.most_disk_bytes,
            "the folder holds {} MiB for a few megabytes of rows",
            report.most_disk_bytes >> 20
        );
    }
    report.acknowledged = ledger.acknowledged.values().map(|number| *number as u64).sum();
    Ok(report)
}

/// On a disk that is small enough to fill up: the child must stop by itself with a sentence, and once there is room
/// again everything acknowledged must be there and writes must go on. Returns the child's last words.
pub fn full_disk(child: &Path, folder: &Path) -> anyhow::Result<String> {
    let ballast = folder.join("ballast");
    std::fs::write(&ballast, vec![1; 24 << 20])?;
    let url = format!("embedded:{}", folder.join("store").display());
    let mut ledger = Ledger::default();
    let mut report = Report::default();
    let mut process = Command::new(child)
        .args(["store", "child"])
        .arg(&url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = read_lines(&mut process)?;
    loop {
        match lines.recv_timeout(HANG) {
            Ok(line) => ledger.note(&line, &mut report)?,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                process.kill()?;
                bail!("the child neither wrote nor stopped on a full disk");
            }
        }
    }
    let output = process.wait_with_output()?;
    ensure!(!output.status.success(), "a full disk ended well");
    ledger.end_life();
    std::fs::remove_file(&ballast)?;
    let plan = Plan { kills: 1, seed: 0, patience: HANG, most_disk_bytes: u64::MAX };
    one_life(child, &url, false, Duration::from_millis(50), &mut ledger, &mut report, &plan)?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn one_life(
    program: &Path,
    url: &str,
    early: bool,
    after: Duration,
    ledger: &mut Ledger,
    report: &mut Report,
    plan: &Plan,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut child = Command::new(program).args(["store", "child"]).arg(url).stdout(Stdio::piped()).spawn()?;
    let lines = read_lines(&mut child)?;
    let mut kill_at = early.then(|| began + after);
    let mut killed = false;
    loop {
        let wait = kill_at.map_or(HANG, |at| at.saturating_duration_since(Instant::now()));
        let line = match lines.recv_timeout(wait) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) if kill_at.is_some() && !killed => {
                child.kill()?;
                (killed, kill_at) = (true, None);
                continue;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                child.kill()?;
                bail!("the child said nothing for {} s", HANG.as_secs());
            }
        };
        if line == "ready" {
            kill_at = kill_at.or_else(|| Some(Instant::now() + after)).filter(|_| !killed);
        }
        let unanswered = ledger.fresh == 0;
        ledger.note(&line, report)?;
        if unanswered && ledger.fresh == 1 && !early {
            let reopened = began.elapsed();
            report.slowest_reopen_ms = report.slowest_reopen_ms.max(reopened.as_millis());
            ensure!(
                reopened <= plan.patience,
                "the first write after a restart took {} ms",
                reopened.as_millis()
            );
        }
    }
    let status = child.wait()?;
    ensure!(killed, "the child ended by itself: {status}");
    ledger.end_life();
    Ok(())
}

impl Ledger {
    fn note(&mut self, line: &str, report: &mut Report) -> anyhow::Result<()> {
        let words: Vec<_> = line.split(' ').collect();
        let [word, writer, number] = words[..] else { return Ok(()) };
        let (writer, number): (i64, i64) = (writer.parse()?, number.parse()?);
        let acknowledged = self.acknowledged.get(&writer).copied().unwrap_or_default();
        match word {
            "state" => {
                let begun = self.begun.get(&writer).copied().unwrap_or_default();
                ensure!(
                    number >= acknowledged,
                    "writer {writer}: {acknowledged} was acknowledged, {number} is there"
                );
                ensure!(number <= begun, "writer {writer}: {number} is there, but only {begun} was begun");
                report.unacknowledged_kept += (number - acknowledged) as u64;
                self.acknowledged.insert(writer, number);
            }
            "begin" => drop(self.begun.insert(writer, number)),
            "ack" => {
                self.acknowledged.insert(writer, number);
                self.fresh += 1;
            }
            other => bail!("the child said {other:?}"),
        }
        Ok(())
    }

    fn end_life(&mut self) {
        self.fresh = 0;
    }
}

fn read_lines(child: &mut Child) -> anyhow::Result<mpsc::Receiver<String>> {
    let out = child.stdout.take().context("the child has a stdout")?;
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok(lines)
}
