//! The temporary folder of one run, and the end of everything that runs out of it.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::launch::MARK;

const PREFIX: &str = "dvor-run-";

pub(crate) struct RunFolder {
    pub(super) path: PathBuf,
    // Held for as long as the run lives: a folder whose lock is free belongs to a run that was killed.
    _lock: File,
}

impl RunFolder {
    pub(super) fn create() -> Result<Self> {
        let parent = traversable_temp();
        remove_abandoned(&parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        // PostgreSQL's user has to get through to its data.
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
        let lock = File::create(path.join("lock"))?;
        lock.lock()?;
        Ok(RunFolder { path, _lock: lock })
    }

    /// A folder for one server, with its log beside it.
    pub(super) fn server(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        let folder = self.path.join(name);
        std::fs::create_dir(&folder)?;
        Ok((folder, self.path.join(format!("{name}.log"))))
    }

    /// What every server of this run carries in its environment.
    pub(super) fn mark(&self) -> (String, String) {
        (MARK.to_owned(), self.path.display().to_string())
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        end_servers_of(&self.path);
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The temp folder, unless another user could not enter it: then the system's.
fn traversable_temp() -> PathBuf {
    let temp = std::env::temp_dir();
    let open = |path: &Path| path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
    if temp.ancestors().all(open) { temp } else { PathBuf::from("/tmp") }
}

/// After a SIGKILL nobody cleaned up; the next run does.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // No lock file: just being made, or not ours.
        let Ok(lock) = File::open(path.join("lock")) else { continue };
        if lock.try_lock().is_ok() {
            println!("removing what a killed run left: {}", path.display());
            end_servers_of(&path);
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Ends the processes that carry this run's mark, which is how a server restarted by a test is found.
fn end_servers_of(folder: &Path) {
    let mark = format!("{MARK}={}", folder.display());
    let asked = Instant::now();
    loop {
        let pids = pids_with(&mark);
        if pids.is_empty() {
            return;
        }
        // PostgreSQL, the JVM and Python all take SIGINT as "stop now, in order".
        let signal = if asked.elapsed() < Duration::from_secs(5) { Signal::SIGINT } else { Signal::SIGKILL };
        for pid in pids {
            let _ = kill(pid, signal);
        }
        sleep(Duration::from_millis(200));
    }
}

fn pids_with(mark: &str) -> Vec<Pid> {
    let carries = |pid: i32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()))
    };
    std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| carries(*pid))
        .map(Pid::from_raw)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_server_ends_with_its_run() {
        let run = RunFolder::create().unwrap();
        let path = run.path.clone();
        let mut command = std::process::Command::new("sleep");
        let mut child = command.arg("60").envs([run.mark()]).spawn().unwrap();
        // Reaped beside, as its real parent would; a zombie has no environment to find it by in any case.
        let waiting = std::thread::spawn(move || child.wait().unwrap());
        drop(run);
        assert!(!waiting.join().unwrap().success());
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_a_living_run_is_not() {
        let parent = std::env::temp_dir().join(format!("xtask-abandoned-{}", std::process::id()));
        let (dead, living) = (parent.join("dvor-run-1"), parent.join("dvor-run-2"));
        for folder in [&dead, &living] {
            std::fs::create_dir_all(folder).unwrap();
        }
        File::create(dead.join("lock")).unwrap();
        let lock = File::create(living.join("lock")).unwrap();
        lock.lock().unwrap();
        remove_abandoned(&parent);
        assert!(!dead.exists() && living.exists());
        std::fs::remove_dir_all(parent).unwrap();
    }
}
