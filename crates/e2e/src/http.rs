//! An HTTP client that costs next to nothing, so that it takes little of what is measured.

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One connection that is kept open.
pub struct Client {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

impl Client {
    pub async fn connect(host: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: host.to_owned(), buffer: Vec::with_capacity(64 << 10) })
    }

    /// Calls and gives the status and the body.
    pub async fn call(&mut self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<(u16, Vec<u8>)> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request).await?;
        self.buffer.clear();
        let head_end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            self.more().await?;
        };
        let head = std::str::from_utf8(&self.buffer[..head_end])?.to_ascii_lowercase();
        let status: u16 = head.split(' ').nth(1).context("a status")?.parse()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(Ok(0), str::parse)?;
        while self.buffer.len() < head_end + length {
            self.more().await?;
        }
        Ok((status, self.buffer[head_end..head_end + length].to_vec()))
    }

    /// Calls, and fails when the answer is not 200.
    pub async fn good(&mut self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let (status, answer) = self.call(method, path, body).await?;
        ensure!(status == 200, "{method} {path} was answered {status}: {}", String::from_utf8_lossy(&answer));
        Ok(answer)
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let count = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(count > 0, "the connection was closed");
        Ok(())
    }
}

/// Open connections that many tasks share, each for one call at a time.
pub struct Pool {
    host: String,
    free: std::sync::Mutex<Vec<Client>>,
}

impl Pool {
    pub fn new(host: &str) -> Self {
        Self { host: host.to_owned(), free: std::sync::Mutex::default() }
    }

    pub async fn good(&self, method: &str, path: &str, body: &[u8]) -> anyhow::Result<Vec<u8>> {
        let free = self.free.lock().map_or(None, |mut free| free.pop());
        let mut client = match free {
            Some(client) => client,
            None => Client::connect(&self.host).await?,
        };
        let answer = client.good(method, path, body).await?;
        if let Ok(mut free) = self.free.lock() {
            free.push(client);
        }
        Ok(answer)
    }
}
