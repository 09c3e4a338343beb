//! PostgreSQL, Kafka and S3 for one run: prepared in the cache folder, started on free loopback ports with data
//! in a temporary folder, stopped and removed when [`Servers`] is dropped.
//!
//! A server that the environment names (`DVOR_TEST_POSTGRES`, `DVOR_TEST_KAFKA`, `DVOR_TEST_S3`) is used as it
//! is and is never stopped. One that cannot be prepared is *missing*: its variable stays unset for the tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use self::launch::{Launch, Running};
use self::run_folder::RunFolder;

mod install;
mod kafka;
mod launch;
mod postgres;
mod ready;
mod run_folder;
mod s3;

pub(crate) use self::install::{cache_folder, need_program};

/// Where tests find how to stop a server and to start it again.
const CONTROL: &str = "DVOR_TEST_SERVICES";

/// A kind of server: its name, the variable with its address, and how to prepare one in a run's folder.
type Kind = (&'static str, &'static str, fn(&RunFolder) -> Result<Launch>);

const KINDS: [Kind; 3] = [
    ("postgres", "DVOR_TEST_POSTGRES", postgres::prepare),
    ("kafka", "DVOR_TEST_KAFKA", kafka::prepare),
    ("s3", "DVOR_TEST_S3", s3::prepare),
];

// The fields are dropped in this order: the servers stop, what a test restarted is found and stopped, then the
// data goes.
pub(crate) struct Servers {
    running: Vec<Running>,
    folder: RunFolder,
    given: Vec<(&'static str, String)>,
    missing: Vec<Missing>,
}

pub(crate) struct Missing {
    pub(crate) name: &'static str,
    pub(crate) variable: &'static str,
    pub(crate) reason: String,
}

/// What `DVOR_TEST_SERVICES` points at.
#[derive(Serialize)]
struct Control<'a> {
    folder: &'a PathBuf,
    services: BTreeMap<&'static str, launch::Control>,
}

impl Servers {
    /// Prepares the three kinds at the same time and starts what could be prepared.
    ///
    /// Call it from a thread that lives as long as the servers: the kernel ends them with the thread that
    /// started them.
    pub(crate) fn start() -> Result<Self> {
        let mut servers = Servers {
            running: Vec::new(),
            folder: RunFolder::create()?,
            given: Vec::new(),
            missing: Vec::new(),
        };
        let mut prepared = Vec::new();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (name, variable, prepare) in KINDS {
                if let Some(address) = std::env::var(variable).ok().filter(|address| !address.is_empty()) {
                    // The address may hold a password, and logs are read by many.
                    println!("[{name}] given by {variable}");
                    servers.given.push((variable, address));
                } else {
                    let folder = &servers.folder;
                    threads.push((name, variable, scope.spawn(move || prepare(folder))));
                }
            }
            for (name, variable, thread) in threads {
                let result = thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("preparing it panicked")));
                prepared.push((name, variable, result));
            }
        });
        anyhow::ensure!(!crate::process::interrupted(), "interrupted");
        for (name, variable, launch) in prepared {
            match launch.and_then(Running::start) {
                Ok(running) => servers.running.push(running),
                Err(error) => servers.miss(name, variable, &error)?,
            }
        }
        servers.wait_until_ready()?;
        servers.write_control()?;
        Ok(servers)
    }

    /// Tells a child where the servers are, and by absent variables which are not.
    pub(crate) fn tell(&self, command: &mut Command) {
        for missing in &self.missing {
            command.env_remove(missing.variable);
        }
        command.envs(self.variables());
    }

    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = self.given.clone();
        for running in &self.running {
            variables.push((running.launch.variable, running.launch.address.clone()));
        }
        // Servers that were all given may have come with the means to control them.
        if !self.running.is_empty() || std::env::var_os(CONTROL).is_none() {
            variables.push((CONTROL, self.control_file().display().to_string()));
        }
        variables
    }

    pub(crate) fn missing(&self) -> &[Missing] {
        &self.missing
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        for running in std::mem::take(&mut self.running) {
            let started = Instant::now();
            let (name, variable) = (running.launch.name, running.launch.variable);
            match running.wait_until_ready() {
                Ok(()) => {
                    println!("[{name}] answers after {:.1} s", started.elapsed().as_secs_f64());
                    self.running.push(running);
                }
                Err(error) => self.miss(name, variable, &error)?,
            }
        }
        Ok(())
    }

    /// Notes a missing server; an interruption is not one, it ends the run.
    fn miss(&mut self, name: &'static str, variable: &'static str, error: &anyhow::Error) -> Result<()> {
        if crate::process::interrupted() {
            anyhow::bail!("interrupted");
        }
        self.missing.push(Missing { name, variable, reason: format!("{error:#}") });
        Ok(())
    }

    fn control_file(&self) -> PathBuf {
        self.folder.path.join("services.json")
    }

    fn write_control(&self) -> Result<()> {
        let services = self.running.iter().map(|running| (running.launch.name, running.control())).collect();
        let control = Control { folder: &self.folder.path, services };
        std::fs::write(self.control_file(), serde_json::to_vec_pretty(&control)?)
            .context("cannot write services.json")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        // All are asked first, so that they stop at the same time.
        for running in &self.running {
            running.ask_to_stop();
        }
    }
}
