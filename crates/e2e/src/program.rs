//! The real program, started on a folder, killed without warning.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// Longer than a start takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Of the times in /proc, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running `dvor serve`; dropped, it is killed.
pub struct Program {
    child: Child,
    data: PathBuf,
    pub http: SocketAddr,
    pub snippets: Option<SocketAddr>,
}

/// What a process has taken of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub peak_bytes: u64,
    pub seconds: f64,
}

#[derive(Deserialize)]
struct Running {
    pid: u32,
    http: SocketAddr,
    snippets: Option<SocketAddr>,
}

/// `dvor` of the same build as this program.
pub fn dvor() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join("dvor")).find(|path| path.is_file());
    found.context("there is no dvor beside this program: build it first (`cargo build -p dvor`)")
}

impl Program {
    /// Starts on the folder and waits until the ports are open.
    pub fn start(data: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        Self::start_with(data, arguments, &[])
    }

    /// The same with settings from the environment.
    pub fn start_with(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<Self> {
        std::fs::create_dir_all(data)?;
        let mut command = Command::new(dvor()?);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DVOR_")) {
            command.env_remove(name);
        }
        for port in ["DVOR_HTTP", "DVOR_GRPC", "DVOR_SNIPPETS"] {
            command.env(port, "127.0.0.1:0");
        }
        command.envs(variables.iter().copied());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(data.join("log"))?;
        command.args(["serve", "--data"]).arg(data).args(arguments);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut program = Self { child, data: data.to_owned(), http: nowhere, snippets: None };
        let running = program.wait()?;
        (program.http, program.snippets) = (running.http, running.snippets);
        Ok(program)
    }

    /// `dvor.json` of this very process.
    fn wait(&mut self) -> anyhow::Result<Running> {
        let began = Instant::now();
        loop {
            let found = std::fs::read(self.data.join("dvor.json")).unwrap_or_default();
            if let Ok(running) = serde_json::from_slice::<Running>(&found)
                && running.pid == self.child.id()
            {
                return Ok(running);
            }
            if self.child.try_wait()?.is_some() || began.elapsed() > PATIENCE {
                bail!("dvor did not start: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.join("log")).unwrap_or_default()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that it has had at one time, and the processor time that it has used.
    pub fn cost(&self) -> anyhow::Result<Cost> {
        let folder = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = std::fs::read_to_string(folder.join("status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        let kilobytes: u64 = peak.trim().trim_end_matches("kB").trim().parse()?;
        let stat = std::fs::read_to_string(folder.join("stat"))?;
        // The name in parentheses may hold spaces; user and system time are the 12th and 13th behind it.
        let (_, numbers) = stat.rsplit_once(')').context("no name")?;
        let ticks: u64 =
            numbers.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
        Ok(Cost { peak_bytes: kilobytes << 10, seconds: ticks as f64 / TICKS_PER_SECOND })
    }

    /// SIGKILL: it gets no chance to tidy up.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
