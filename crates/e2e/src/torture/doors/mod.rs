//! Bad behaviour, bounded and on loopback: silent connections, slow uploads, large bodies and a seller who uses all quotas,
//! while another seller goes on as if nothing were. Nothing is killed; what counts is how long the other one waits.

mod crowd;
mod seller;

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::task::JoinSet;

use crate::program::{Program, dvor};

pub use seller::Waits;

/// How much of it, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub silent: usize,
    pub slow: usize,
    pub large: usize,
    /// Of the quiet time, and of the other.
    pub period: Duration,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Report {
    pub quiet: Waits,
    pub crowded: Waits,
    pub quiet_bytes: u64,
    pub crowded_bytes: u64,
    /// Sockets of the program: before, at the height of it, and when all have gone.
    pub sockets: [usize; 3],
    /// What the others heard, by status.
    pub answers: crowd::Answers,
}

pub async fn run(plan: &Plan) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir()?;
    let program = Program::start(folder.path(), &[])?;
    let token = |scope: &str| -> anyhow::Result<String> {
        let arguments = ["token", "create", "--scope", scope, "--data"];
        let made = Command::new(dvor()?).args(arguments).arg(folder.path()).output();
        let made = made.context("dvor token create")?;
        ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Ok(String::from_utf8(made.stdout)?.trim().to_owned())
    };
    let (good, bad) = (token("seller:good")?, token("seller:bad")?);
    let offer = seller::publish(program.http, &good).await?;
    // Whatever is made once is made before anybody looks.
    seller::work(program.http, &good, &offer, plan.period / 4).await?;
    let (before, bytes_before) = (sockets(program.id()), program.cost()?.peak_bytes);
    let quiet = seller::work(program.http, &good, &offer, plan.period).await?;

    let answers = crowd::Answers::default();
    let mut crowd = JoinSet::new();
    crowd::gather(&mut crowd, plan, program.http, &bad, &answers);
    let (crowded, during) = tokio::join!(seller::work(program.http, &good, &offer, plan.period), async {
        tokio::time::sleep(plan.period / 2).await;
        sockets(program.id())
    });
    let crowded = crowded?;
    let crowded_bytes = program.cost()?.peak_bytes;
    crowd.shutdown().await;
    let after = settled(program.id(), before).await;
    Ok(Report {
        quiet,
        crowded,
        quiet_bytes: bytes_before,
        crowded_bytes,
        sockets: [before, during, after],
        answers,
    })
}

/// Sockets that a process has open.
fn sockets(process: u32) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return 0 };
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|to| to.to_string_lossy().starts_with("socket:")).count()
}

/// How many are left when the program has had time to notice that all have gone.
async fn settled(process: u32, before: usize) -> usize {
    for _ in 0..200 {
        if sockets(process) <= before + 8 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    sockets(process)
}

/// The head of a call with a token.
fn head(method: &str, path: &str, address: SocketAddr, token: &str, bytes: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n"
    )
}
