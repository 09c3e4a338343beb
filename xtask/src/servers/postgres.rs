//! PostgreSQL from Debian's package, with a cluster of our own.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use nix::unistd::Uid;

use super::launch::Launch;
use super::run_folder::RunFolder;
use super::{install, ready};
use crate::process;

const DEBIAN_BINARIES: &str = "/usr/lib/postgresql";
const SUPERUSER: &str = "dvor";
const PASSWORD: &str = "dvor";
const DATABASE: &str = "postgres";
const INITDB_LIMIT: Duration = Duration::from_mins(2);

pub(super) fn prepare(run: &RunFolder) -> Result<Launch> {
    let binaries = binaries()?;
    let user = if Uid::effective().is_root() { Some(unprivileged_user()?) } else { None };
    let (folder, log) = run.server("postgres")?;
    if let Some(user) = &user {
        let id = |option: &str| -> Result<u32> {
            let text = process::output_of(Command::new("id").args([option, user]))?;
            text.trim().parse().context("`id` did not print a number")
        };
        chown(&folder, Some(id("-u")?), Some(id("-g")?))?;
    }
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700))?;
    let data = folder.join("data");
    initdb(run, &binaries, &data, user.as_deref())?;

    let port = ready::free_port()?;
    let address = format!("postgres://{SUPERUSER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}");
    let mut argv = vec![text(&binaries.join("postgres")), "-D".into(), text(&data)];
    for setting in [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!("unix_socket_directories={}", folder.display()),
        "max_connections=300".to_owned(),
    ] {
        argv.extend(["-c".to_owned(), setting]);
    }
    let psql = binaries.join("psql");
    let probe = address.clone();
    Ok(Launch {
        name: "postgres",
        variable: "DVOR_TEST_POSTGRES",
        address,
        argv,
        env: BTreeMap::from([run.mark()]),
        user,
        folder,
        log,
        // Immediate shutdown; SIGKILL would leave shared memory behind.
        stop_signal: Signal::SIGQUIT,
        answers: Box::new(move || {
            process::output_of(Command::new(&psql).args([&probe, "-X", "-A", "-t", "-c", "select 1"]))
                .is_ok_and(|answer| answer.trim() == "1")
        }),
    })
}

fn initdb(run: &RunFolder, binaries: &Path, data: &Path, user: Option<&str>) -> Result<()> {
    let password = run.path.join("postgres.password");
    std::fs::write(&password, PASSWORD)?;
    std::fs::set_permissions(&password, PermissionsExt::from_mode(0o644))?;
    let mut command = match user {
        Some(user) => {
            let mut setpriv = Command::new("setpriv");
            setpriv.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--init-groups", "--"]);
            setpriv.arg(binaries.join("initdb"));
            setpriv
        }
        None => Command::new(binaries.join("initdb")),
    };
    command.current_dir(&run.path).arg("-D").arg(data).arg("--pwfile").arg(&password).args([
        "--username",
        SUPERUSER,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
    ]);
    process::run_quietly(&mut command, &run.path.join("initdb.log"), INITDB_LIMIT)
}

/// The newest version that Debian has put on this machine, installed if there is none.
fn binaries() -> Result<PathBuf> {
    if let Some(found) = newest_binaries() {
        return Ok(found);
    }
    install::apt_install(&["postgresql"])?;
    newest_binaries().with_context(|| format!("the package is installed, but {DEBIAN_BINARIES} is empty"))
}

fn newest_binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN_BINARIES).ok()?.flatten();
    versions
        .filter(|entry| entry.path().join("bin/initdb").is_file())
        .max_by_key(|entry| entry.file_name().to_string_lossy().parse::<u32>().unwrap_or(0))
        .map(|entry| entry.path().join("bin"))
}

/// PostgreSQL refuses to run as root.
fn unprivileged_user() -> Result<String> {
    if !process::on_path("setpriv") {
        bail!("to run PostgreSQL from root, setpriv (Debian package util-linux) is needed");
    }
    ["postgres", "nobody"]
        .into_iter()
        .find(|user| process::output_of(Command::new("id").args(["-u", user])).is_ok())
        .map(str::to_owned)
        .context("PostgreSQL cannot run as root, and there is no user `postgres` or `nobody`")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
