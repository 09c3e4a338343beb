//! An S3 server: moto, from PyPI in a virtual environment. It keeps objects in memory, so they are gone when
//! it restarts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;

use super::launch::Launch;
use super::run_folder::RunFolder;
use super::{install, ready};
use crate::process;

const VERSION: &str = "5.2.5";
/// `moto[server]` brings what all of the cloud's services need; this is S3's share of it, and the web server.
const PACKAGES: [&str; 3] = ["flask==3.1.3", "flask-cors==6.0.5", "werkzeug==3.1.9"];

pub(super) fn prepare(run: &RunFolder) -> Result<Launch> {
    let environment = environment()?;
    let (folder, log) = run.server("s3")?;
    let port = ready::free_port()?;
    let argv = vec![
        environment.join("bin/moto_server").display().to_string(),
        "-H".into(),
        "127.0.0.1".into(),
        "-p".into(),
        port.to_string(),
    ];
    // Large objects are spooled to the disk; they should go with the run.
    let temp = ("TMPDIR".to_owned(), folder.display().to_string());
    Ok(Launch {
        name: "s3",
        variable: "DVOR_TEST_S3",
        address: format!("http://127.0.0.1:{port}"),
        argv,
        env: BTreeMap::from([run.mark(), temp]),
        user: None,
        folder,
        log,
        stop_signal: Signal::SIGKILL,
        answers: Box::new(move || ready::http_answers(port)),
    })
}

fn environment() -> Result<PathBuf> {
    let name = format!("moto-{VERSION}");
    let folder = install::cached(&name, create)?;
    if works(&folder) {
        return Ok(folder);
    }
    // The system's Python was replaced under the environment.
    install::forget(&folder)?;
    let folder = install::cached(&name, create)?;
    ensure!(works(&folder), "the Python environment in {} does not run", folder.display());
    Ok(folder)
}

fn works(environment: &Path) -> bool {
    process::output_of(Command::new(environment.join("bin/python")).args(["-c", "import flask"])).is_ok()
}

fn create(folder: &Path) -> Result<()> {
    if !process::on_path("python3") {
        install::apt_install(&["python3", "python3-venv"])?;
    }
    println!("[s3] fetching moto {VERSION} with pip");
    let log = folder.join("install.log");
    let venv = || {
        let mut command = Command::new("python3");
        command.args(["-m", "venv", "--clear"]).arg(folder);
        command
    };
    // Debian's python3 comes without ensurepip.
    if process::run_quietly(&mut venv(), &cache_log()?, install::DOWNLOAD_LIMIT).is_err() {
        install::apt_install(&["python3-venv"])?;
        process::run_quietly(&mut venv(), &cache_log()?, install::DOWNLOAD_LIMIT)?;
    }
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--retries", "2", "--disable-pip-version-check"]);
    pip.arg(format!("moto[s3]=={VERSION}")).args(PACKAGES);
    process::run_quietly(&mut pip, &log, install::DOWNLOAD_LIMIT)
}

/// Outside of the environment's folder, which `--clear` empties.
fn cache_log() -> Result<PathBuf> {
    Ok(install::cache_folder()?.join("venv.log"))
}
