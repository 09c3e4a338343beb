//! One server as a process: its command, its start, and its stop.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use crate::process;

/// A JVM on a busy machine takes its time.
const READY_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The variable by which a run finds its servers again, also those that a test has restarted.
pub(super) const MARK: &str = "DVOR_SERVICE_OF";

/// Everything needed to start one server, as often as wanted, on the same port and data.
pub(super) struct Launch {
    pub(super) name: &'static str,
    /// The environment variable that tells tests the address.
    pub(super) variable: &'static str,
    pub(super) address: String,
    /// The command without the change of user.
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Whom to become first; None: stay who we are.
    pub(super) user: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) log: PathBuf,
    /// Data is thrown away afterwards, so the fastest signal that leaves nothing behind in the system.
    pub(super) stop_signal: Signal,
    pub(super) answers: Box<dyn Fn() -> bool + Send>,
}

/// A server's entry in the file of `DVOR_TEST_SERVICES`.
#[derive(Serialize)]
pub(super) struct Control {
    address: String,
    pid: i32,
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    user: Option<String>,
    folder: PathBuf,
    log: PathBuf,
    stop_signal: &'static str,
}

pub(super) struct Running {
    pub(super) launch: Launch,
    pid: Pid,
    ended: Arc<AtomicBool>,
}

impl Running {
    pub(super) fn start(launch: Launch) -> Result<Self> {
        let argv = launch.argv_dying_with_us();
        let (program, arguments) = argv.split_first().context("an empty command")?;
        let log = OpenOptions::new().create(true).append(true).open(&launch.log)?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(&launch.env)
            .current_dir(&launch.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let pid = Pid::from_raw(child.id() as i32);
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        // A server that a test kills must be waited for at once: PostgreSQL does not start again while the
        // process in its lock file is there, even as a zombie.
        thread::spawn(move || {
            let _ = child.wait();
            seen.store(true, Ordering::SeqCst);
        });
        Ok(Running { launch, pid, ended })
    }

    pub(super) fn wait_until_ready(&self) -> Result<()> {
        let started = Instant::now();
        while !(self.launch.answers)() {
            if self.has_ended() {
                bail!("ended at once; {}", process::tail(&self.launch.log));
            }
            if started.elapsed() > READY_LIMIT {
                bail!("no answer in {} s; {}", READY_LIMIT.as_secs(), process::tail(&self.launch.log));
            }
            process::pause()?;
        }
        Ok(())
    }

    pub(super) fn control(&self) -> Control {
        Control {
            address: self.launch.address.clone(),
            pid: self.pid.as_raw(),
            argv: self.launch.argv_for_others(),
            env: self.launch.env.clone(),
            user: self.launch.user.clone(),
            folder: self.launch.folder.clone(),
            log: self.launch.log.clone(),
            stop_signal: self.launch.stop_signal.as_str(),
        }
    }

    pub(super) fn ask_to_stop(&self) {
        // A process that has ended has no pid of its own any more.
        if !self.has_ended() {
            let _ = kill(self.pid, self.launch.stop_signal);
        }
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let asked = Instant::now();
        while !self.has_ended() {
            // Again and again: a server that has only just started may have missed the signal.
            self.ask_to_stop();
            if asked.elapsed() > STOP_LIMIT {
                let _ = killpg(self.pid, Signal::SIGKILL);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Launch {
    /// For us: when this thread ends in whatever way, the kernel stops the server.
    fn argv_dying_with_us(&self) -> Vec<String> {
        self.argv_with(Some(format!("--pdeathsig={}", self.stop_signal.as_str().trim_start_matches("SIG"))))
    }

    /// For a test that starts the server again: its threads come and go, and the server must not go with them.
    fn argv_for_others(&self) -> Vec<String> {
        self.argv_with(None)
    }

    fn argv_with(&self, death_signal: Option<String>) -> Vec<String> {
        let mut options = Vec::new();
        if let Some(user) = &self.user {
            options.extend([format!("--reuid={user}"), format!("--regid={user}"), "--init-groups".into()]);
        }
        options.extend(death_signal.filter(|_| process::on_path("setpriv")));
        if options.is_empty() {
            return self.argv.clone();
        }
        let mut argv = vec!["setpriv".to_owned()];
        argv.extend(options);
        argv.push("--".into());
        argv.extend(self.argv.iter().cloned());
        argv
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_start_ties_a_server_to_us() {
        let mut launch = Launch {
            name: "x",
            variable: "X",
            address: String::new(),
            argv: vec!["server".into()],
            env: BTreeMap::new(),
            user: None,
            folder: PathBuf::new(),
            log: PathBuf::new(),
            stop_signal: Signal::SIGQUIT,
            answers: Box::new(|| true),
        };
        assert_eq!(launch.argv_for_others(), ["server"]);
        launch.user = Some("postgres".into());
        let others = launch.argv_for_others().join(" ");
        assert_eq!(others, "setpriv --reuid=postgres --regid=postgres --init-groups -- server");
        if process::on_path("setpriv") {
            assert!(launch.argv_dying_with_us().contains(&"--pdeathsig=QUIT".to_owned()));
        }
    }
}
