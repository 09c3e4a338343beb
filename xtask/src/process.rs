//! Child processes that end when we are told to end.
//!
//! Ctrl-C only raises a flag. Whoever waits for a child looks at it, ends the child's whole process group and
//! returns an error, so that the guards up the stack stop the servers and remove the temporary folders.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

// A signal has no other place to arrive at than a global.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

const POLL: Duration = Duration::from_millis(20);
/// How long an interrupted child may tidy up before it is killed.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn catch_signals() -> Result<()> {
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst)).context("cannot listen for Ctrl-C")
}

pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Sleeps a little; an error when the person wants to stop.
pub(crate) fn pause() -> Result<()> {
    sleep(POLL);
    if interrupted() {
        bail!("interrupted");
    }
    Ok(())
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; a binary called by hand works in the current folder.
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).map_or_else(
        || PathBuf::from("."),
        |manifest| manifest.parent().map_or(manifest.clone(), Path::to_path_buf),
    )
}

/// The cargo that runs us, so that a `+toolchain` holds for the steps too.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Left in place, the variables of xtask's own manifest would look like the children's.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" {
            command.env_remove(name);
        }
    }
    command
}

/// Runs to the end with our output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = describe(command);
    let child = command.stdin(Stdio::null()).process_group(0).spawn();
    let status = wait(child.with_context(|| format!("cannot start {name}"))?, None)?;
    success(&name, status)
}

/// Runs to the end with its output in `log`; the last lines of it are part of the error.
pub(crate) fn run_quietly(command: &mut Command, log: &Path, limit: Duration) -> Result<()> {
    let name = describe(command);
    let output = std::fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let status = wait(child, Some(limit)).with_context(|| name.clone())?;
    success(&name, status).map_err(|error| anyhow!("{error}; {}", tail(log)))
}

/// What a short command prints.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    success(&name, output.status)
        .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last lines of a log, for an error message.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(15)..).unwrap_or_default();
    format!("the end of its output:\n    {}\n", last.join("\n    "))
}

/// Is there a program of this name on the PATH?
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn wait(mut child: Child, limit: Option<Duration>) -> Result<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupted() {
            end_group(&mut child);
            bail!("interrupted");
        }
        if limit.is_some_and(|limit| started.elapsed() > limit) {
            end_group(&mut child);
            bail!("not done after {} s", started.elapsed().as_secs());
        }
        sleep(POLL);
    }
}

fn end_group(child: &mut Child) {
    let group = Pid::from_raw(child.id() as i32);
    let _ = killpg(group, Signal::SIGTERM);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        sleep(POLL);
    }
    // Also when the leader is gone: its children may have ignored the first signal.
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

fn success(name: &str, status: ExitStatus) -> Result<()> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (_, Some(signal)) => bail!("{name}: killed by signal {signal}"),
        (code, None) => bail!("{name}: exit code {}", code.unwrap_or(-1)),
    }
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()];
    words.extend(command.get_args().take(6).map(|word| word.to_string_lossy().into_owned()));
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_child_is_an_error_with_its_last_words() {
        let log = std::env::temp_dir().join(format!("xtask-process-{}", std::process::id()));
        let error = run_quietly(
            Command::new("sh").args(["-c", "echo the reason; exit 3"]),
            &log,
            Duration::from_secs(10),
        )
        .unwrap_err();
        std::fs::remove_file(log).unwrap();
        let text = format!("{error:#}");
        assert!(text.contains("the reason") && text.contains("exit code 3"), "{text}");
    }

    #[test]
    fn a_child_over_its_limit_is_ended_with_its_children() {
        let log = std::env::temp_dir().join(format!("xtask-limit-{}", std::process::id()));
        let started = Instant::now();
        let slow =
            run_quietly(Command::new("sh").args(["-c", "sleep 60 & wait"]), &log, Duration::from_millis(100));
        std::fs::remove_file(log).unwrap();
        assert!(format!("{:#}", slow.unwrap_err()).contains("not done"));
        assert!(started.elapsed() < GRACE);
    }
}
