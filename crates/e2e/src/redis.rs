//! Redis behind webdis, its usual HTTP front: what a durable key-value service costs at least.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// A Redis that writes every command through before it answers; ends when dropped.
pub struct Redis {
    _child: Ended,
    port: u16,
}

impl Redis {
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        install("redis-server")?;
        let port = free_port()?;
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--appendonly", "yes"])
            .args(["--appendfsync", "always", "--save", "", "--daemonize", "no", "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server")?;
        let redis = Self { _child: Ended(child), port };
        wait_for("Redis", port)?;
        Ok(redis)
    }
}

/// Serves `PUT /SET/KEY` and `GET /GET/KEY`; ends when dropped.
pub struct Webdis {
    _child: Ended,
    pub address: SocketAddr,
}

impl Webdis {
    pub fn start(folder: &Path, redis: &Redis) -> anyhow::Result<Self> {
        install("webdis")?;
        let port = free_port()?;
        // As the package sets it up, in the foreground and with errors only in its log.
        let settings = serde_json::json!({
            "redis_host": "127.0.0.1", "redis_port": redis.port, "http_host": "127.0.0.1", "http_port": port,
            "threads": 2, "daemonize": false, "verbosity": 0, "logfile": folder.join("webdis.log"),
        });
        let file = folder.join("webdis.json");
        std::fs::write(&file, settings.to_string())?;
        let child = Command::new("webdis").arg(file).stdout(Stdio::null()).spawn().context("webdis")?;
        let webdis = Self { _child: Ended(child), address: SocketAddr::from(([127, 0, 0, 1], port)) };
        wait_for("webdis", port)?;
        Ok(webdis)
    }
}

/// A process that is stopped when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn install(program: &str) -> anyhow::Result<()> {
    // Not by asking for its version: webdis would start.
    if Command::new("which").arg(program).stdout(Stdio::null()).status()?.success() {
        return Ok(());
    }
    let mut install = Command::new("apt-get");
    install.args(["-q", "install", "--yes", "--no-install-recommends", program]);
    let done = install.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()).status()?;
    ensure!(done.success(), "{program} is not here and cannot be installed");
    Ok(())
}

fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn wait_for(name: &str, port: u16) -> anyhow::Result<()> {
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(began.elapsed() < Duration::from_secs(10), "{name} does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
