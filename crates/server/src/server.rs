//! The life of a server: take the folder and the ports, open the engines, start the roles, wait for the end, and undo it
//! all in the opposite order.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use kit::{Shutdown, Tasks};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::access::LocalKey;
use crate::app::{App, Part};
use crate::cli::exit::{self, Failure};
use crate::config::Config;
use crate::data::{self, Lock, Running};
use crate::roles::{Ports, Role};
use crate::{http, roles, telemetry};

/// Work may take this much longer to end than the calls that it waits for.
const WORK_MARGIN: Duration = Duration::from_secs(5);
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

pub struct Server {
    pub app: App,
    pub running: Running,
    /// Ends the ports and the work of the roles.
    pub tasks: Tasks,
    signals: Signals,
    _lock: Lock,
}

impl Server {
    /// Starts everything that the configuration asks for. When it fails, nothing is left behind.
    pub async fn start(config: Config) -> Result<Self> {
        let signals = Signals::listen()?;
        data::make(&config.data)?;
        let lock = data::lock(&config.data)?;
        let http = http::bind(config.http, "--http").await?;
        let grpc = http::bind(config.grpc, "--grpc").await?;
        let snippets = if config.roles.has(Role::Snippets) {
            Some(http::bind(config.snippets, "--snippets").await?)
        } else {
            None
        };
        let app = App::open(config, telemetry::metrics()?, Part::Member).await?;
        let mut doors = vec![("http", http.1), ("grpc", grpc.1)];
        doors.extend(snippets.as_ref().map(|taken| ("snippets", taken.1)));
        check_doors(&app, &doors).await?;

        let running = Running {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            http: http.1,
            grpc: grpc.1,
            snippets: snippets.as_ref().map(|taken| taken.1),
            started_at: app.clock.now(),
        };
        let tasks = Tasks::default();
        if let Err(error) = roles::start(&app, Ports { http, grpc, snippets }, &tasks).await {
            tasks.end(WORK_MARGIN).await;
            app.close().await?;
            return Err(error);
        }
        tasks.spawn("metrics upkeep", upkeep(app.clone(), tasks.shutdown().clone()));
        app.local_key.write(&app.config.data)?;
        running.write(&app.config.data)?;
        tracing::info!(
            http = %running.http,
            grpc = %running.grpc,
            snippets = running.snippets.map(tracing::field::display),
            roles = %app.config.roles,
            data = %app.config.data.display(),
            version = running.version,
            "ready"
        );
        Ok(Self { app, running, tasks, signals, _lock: lock })
    }

    /// Waits for SIGTERM or Ctrl-C, and ends.
    pub async fn run(mut self) -> Result<()> {
        tokio::select! {
            name = self.signals.next() => {
                tracing::info!("{name}: finishing what is under way; a second signal ends at once");
                self.end().await
            }
            () = self.app.broken(&self.tasks) => {
                tracing::error!("a background task panicked: the process ends, so that its work is taken over");
                self.end().await?;
                anyhow::bail!("a background task panicked; the log says where");
            }
        }
    }

    /// Finishes what is under way and closes everything.
    async fn end(self) -> Result<()> {
        let Self { app, tasks, mut signals, .. } = self;
        tokio::select! {
            name = signals.next() => {
                tracing::warn!("{name} again: ending at once");
                // Nothing acknowledged is lost by that; the store is made for it.
                std::process::exit(i32::from(exit::FAILED));
            }
            done = wind_down(&app, &tasks) => done,
        }
    }
}

async fn wind_down(app: &App, tasks: &Tasks) -> Result<()> {
    app.ending.call();
    tokio::time::sleep(app.config.limits.drain).await;
    if !tasks.end(app.config.limits.shutdown + WORK_MARGIN).await {
        tracing::warn!("some background work had not ended in time and is cut off");
    }
    app.close().await?;
    for path in [Running::path(&app.config.data), LocalKey::path(&app.config.data)] {
        if let Err(error) = std::fs::remove_file(&path) {
            tracing::warn!("{} could not be removed: {error}", path.display());
        }
    }
    tracing::info!("ended");
    Ok(())
}

/// Beyond loopback a server without access tokens would belong to whoever finds it.
async fn check_doors(app: &App, doors: &[(&str, SocketAddr)]) -> Result<()> {
    let made =
        app.verifier.is_closed().await.map_err(|problem| Failure::of(exit::UNAVAILABLE, problem.detail))?;
    if made {
        return Ok(());
    }
    if let Some((flag, address)) = doors.iter().find(|(_, address)| !address.ip().is_loopback()) {
        app.close().await?;
        let detail = format!(
            "--{flag} {address} can be reached from other machines, and there is no access token yet: make one with \
             `dvor token create --scope admin`, or listen on 127.0.0.1"
        );
        return Err(Failure::of(exit::USAGE, detail));
    }
    tracing::warn!(
        "there is no access token, so everybody on this machine may do everything; `dvor token create` closes the doors"
    );
    Ok(())
}

async fn upkeep(app: App, shutdown: Shutdown) {
    while shutdown.sleep(METRICS_UPKEEP).await {
        app.metrics.run_upkeep();
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "Ctrl-C",
        }
    }
}
