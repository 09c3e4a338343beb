//! `cargo xtask services`: the servers of the tests, for a developer.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process;
use crate::servers::{Servers, cache_folder};

const STOP_LIMIT: Duration = Duration::from_secs(30);
/// The first time, Kafka and moto are fetched from the network.
const START_LIMIT: Duration = Duration::from_mins(20);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Start them in the background and return
    #[arg(long, conflicts_with_all = ["stop", "hold"])]
    detach: bool,
    /// Stop those started with --detach
    #[arg(long, conflicts_with = "hold")]
    stop: bool,
    /// What --detach runs: hold until a signal comes, whatever stdin does
    #[arg(long, hide = true)]
    hold: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match args {
        Args { detach: true, .. } => detach(),
        Args { stop: true, .. } => stop(),
        Args { hold: true, .. } => hold_in_background(),
        _ => hold_until_stdin_ends(),
    }
}

fn hold_until_stdin_ends() -> Result<()> {
    let servers = Servers::start()?;
    print!("{}", exports(&servers));
    println!("# running; Ctrl-C stops them");
    let ended = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    // Nobody joins it: a blocked read cannot be ended, the process's end does.
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while std::io::stdin().read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
        seen.store(true, Ordering::SeqCst);
    });
    while !ended.load(Ordering::SeqCst) && process::pause().is_ok() {}
    drop(servers);
    println!("# stopped");
    Ok(())
}

/// The file with the exports tells the waiting `--detach` that all is up, and `--stop` whom to ask.
fn hold_in_background() -> Result<()> {
    let servers = Servers::start()?;
    let file = state_file()?;
    let written = file.with_extension("new");
    std::fs::write(&written, format!("# holder {}\n{}", std::process::id(), exports(&servers)))?;
    std::fs::rename(&written, &file)?;
    while process::pause().is_ok() {}
    drop(servers);
    std::fs::remove_file(&file).context("cannot remove the state file")
}

fn detach() -> Result<()> {
    let state = state_file()?;
    if holder()?.is_none() {
        let _ = std::fs::remove_file(&state);
        let log = File::create(state.with_extension("log"))?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["services", "--hold"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()?;
        let started = Instant::now();
        while !state.exists() {
            if child.try_wait()?.is_some() || started.elapsed() > START_LIMIT {
                bail!("they did not start; {}", process::tail(&state.with_extension("log")));
            }
            process::pause()?;
        }
    }
    print!("{}", std::fs::read_to_string(&state)?);
    Ok(())
}

fn stop() -> Result<()> {
    let Some(pid) = holder()? else {
        println!("nothing runs");
        return Ok(());
    };
    kill(pid, Signal::SIGTERM)?;
    let asked = Instant::now();
    while holder()?.is_some() {
        if asked.elapsed() > STOP_LIMIT {
            bail!("process {pid} does not stop");
        }
        process::pause()?;
    }
    println!("stopped");
    Ok(())
}

/// The process that holds the detached servers, if it is alive and not another that got its number.
fn holder() -> Result<Option<Pid>> {
    let Ok(text) = std::fs::read_to_string(state_file()?) else { return Ok(None) };
    let pid: i32 = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# holder "))
        .and_then(|pid| pid.parse().ok())
        .context("the state file of the services is damaged; remove it")?;
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Ok(command.ends_with(b"services\0--hold\0").then(|| Pid::from_raw(pid)))
}

fn state_file() -> Result<PathBuf> {
    Ok(cache_folder()?.join("services.sh"))
}

fn exports(servers: &Servers) -> String {
    let mut text = String::new();
    for (name, value) in servers.variables() {
        let _ = writeln!(text, "export {name}={value}");
    }
    for missing in servers.missing() {
        let _ = writeln!(text, "# no {}: {}", missing.name, missing.reason.replace('\n', "\n# "));
    }
    text
}
