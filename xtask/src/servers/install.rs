//! The cache folder, and Debian's packages.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;

use crate::process;

pub(super) const DOWNLOAD_LIMIT: Duration = Duration::from_mins(15);

/// Servers are prepared in parallel, and apt-get works alone.
static APT: Mutex<Apt> = Mutex::new(Apt { updated: false });

struct Apt {
    updated: bool,
}

/// `$XDG_CACHE_HOME/dvor` or `~/.cache/dvor`.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    let folder = base.join("dvor");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// A folder in the cache that `build` fills once. Another run that wants the same one waits; a build that did
/// not finish is thrown away. `name` carries the version, so a new version is a new folder.
pub(super) fn cached(name: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let cache = cache_folder()?;
    let folder = cache.join(name);
    let complete = folder.join(".complete");
    if complete.exists() {
        return Ok(folder);
    }
    let lock = File::create(cache.join(format!("{name}.lock")))?;
    lock.lock()?;
    if !complete.exists() {
        forget(&folder)?;
        std::fs::create_dir(&folder)?;
        build(&folder)?;
        File::create(complete)?;
    }
    Ok(folder)
}

/// Makes the next `cached` build the folder again.
pub(super) fn forget(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// A program that tests start, from its Debian package if it is not there.
pub(crate) fn need_program(program: &str, package: &str) -> Result<()> {
    if process::on_path(program) { Ok(()) } else { apt_install(&[package]) }
}

/// Installs Debian packages. A package may start a service of its own; it is left as it is.
pub(super) fn apt_install(packages: &[&str]) -> Result<()> {
    if !process::on_path("apt-get") {
        bail!("no apt-get here; please install {} yourself", packages.join(" "));
    }
    let mut apt = APT.lock().unwrap_or_else(PoisonError::into_inner);
    let log = cache_folder()?.join("apt.log");
    if !apt.updated {
        process::run_quietly(apt_get()?.arg("update"), &log, DOWNLOAD_LIMIT)?;
        apt.updated = true;
    }
    println!("[apt] installing {}", packages.join(" "));
    let mut install = apt_get()?;
    install.args(["install", "--yes", "--no-install-recommends"]).args(packages);
    process::run_quietly(&mut install, &log, DOWNLOAD_LIMIT)
}

fn apt_get() -> Result<Command> {
    let mut command = if Uid::effective().is_root() {
        Command::new("apt-get")
    } else if process::on_path("sudo") {
        // Without a terminal to ask on, a password would wait for ever.
        let mut sudo = Command::new("sudo");
        sudo.args(["--non-interactive", "--preserve-env=DEBIAN_FRONTEND", "apt-get"]);
        sudo
    } else {
        bail!("installing Debian packages needs root or sudo");
    };
    command.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-o", "DPkg::Lock::Timeout=300"]);
    Ok(command)
}
