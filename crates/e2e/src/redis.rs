//! Redis behind an HTTP front as thin as one can be: what a durable key-value service costs at least.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

/// A Redis that writes every command through before it answers; ends when dropped.
pub struct Redis {
    _child: Ended,
    pub port: u16,
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

/// webdis, the usual HTTP front of Redis: `PUT /SET/KEY`. Ends when dropped.
pub struct Webdis {
    _child: Ended,
    pub port: u16,
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
        let webdis = Self { _child: Ended(child), port };
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

type Answer = oneshot::Sender<Option<Bytes>>;

/// One connection on which all calls are pipelined.
#[derive(Clone)]
struct Line(mpsc::Sender<(Vec<u8>, Answer)>);

/// Serves `PUT /KEY` as SET and `GET /KEY` as GET, on a port that it prints.
pub async fn front(redis_port: u16) -> anyhow::Result<()> {
    let stream = TcpStream::connect(("127.0.0.1", redis_port)).await?;
    stream.set_nodelay(true)?;
    let (send, commands) = mpsc::channel(1_024);
    tokio::spawn(pump(stream, commands));
    let line = Line(send);
    let routes = Router::new().route("/{*key}", get(read).put(write)).with_state(line);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening {}", listener.local_addr()?);
    Ok(axum::serve(listener, routes).await?)
}

async fn write(State(line): State<Line>, uri: Uri, body: Bytes) -> StatusCode {
    match line.call(&[b"SET", uri.path().as_bytes(), &body]).await {
        Some(_) => StatusCode::OK,
        None => StatusCode::BAD_GATEWAY,
    }
}

async fn read(State(line): State<Line>, uri: Uri) -> Result<Bytes, StatusCode> {
    line.call(&[b"GET", uri.path().as_bytes()]).await.ok_or(StatusCode::NOT_FOUND)
}

impl Line {
    async fn call(&self, words: &[&[u8]]) -> Option<Bytes> {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            command.extend_from_slice(word);
            command.extend_from_slice(b"\r\n");
        }
        let (answer, answered) = oneshot::channel();
        self.0.send((command, answer)).await.ok()?;
        answered.await.ok()?
    }
}

/// Sends what has gathered in one write, and hands the answers out in their order.
async fn pump(stream: TcpStream, mut commands: mpsc::Receiver<(Vec<u8>, Answer)>) -> anyhow::Result<()> {
    let (mut from, mut to) = stream.into_split();
    let (waiting, mut answers) = mpsc::unbounded_channel::<Answer>();
    let reader = Arc::new(tokio::spawn(async move {
        let mut buffer = Vec::with_capacity(64 << 10);
        while let Some(answer) = answers.recv().await {
            let value = loop {
                if let Some((value, used)) = reply(&buffer)? {
                    buffer.drain(..used);
                    break value;
                }
                ensure!(from.read_buf(&mut buffer).await? > 0, "Redis has hung up");
            };
            // Whoever asked may have gone.
            let _ = answer.send(value);
        }
        Ok(())
    }));
    let mut gathered = Vec::new();
    while commands.recv_many(&mut gathered, 256).await > 0 {
        let mut bytes = Vec::new();
        for (command, answer) in gathered.drain(..) {
            bytes.extend_from_slice(&command);
            waiting.send(answer)?;
        }
        to.write_all(&bytes).await?;
    }
    drop(reader);
    Ok(())
}

/// A whole reply at the beginning of the bytes, and how long it is.
fn reply(bytes: &[u8]) -> anyhow::Result<Option<(Option<Bytes>, usize)>> {
    let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else { return Ok(None) };
    let line = std::str::from_utf8(&bytes[1..end])?;
    match bytes[0] {
        b'+' | b':' => Ok(Some((Some(Bytes::copy_from_slice(line.as_bytes())), end + 2))),
        b'$' if line == "-1" => Ok(Some((None, end + 2))),
        b'$' => {
            let (from, length) = (end + 2, line.parse::<usize>()?);
            let whole = bytes.get(from..from + length);
            Ok(whole
                .filter(|_| bytes.len() >= from + length + 2)
                .map(|value| (Some(Bytes::copy_from_slice(value)), from + length + 2)))
        }
        _ => bail!("Redis said {line}"),
    }
}
