//! A thin HTTP/1.1 client: one connection, one question at a time, as little work as can be, so that a load generator
//! on the same cores does not measure itself.

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CLOSED: &str = "the server closed the connection";

pub struct Client {
    stream: TcpStream,
    host: String,
    buffer: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    /// `name=value` each, as they are sent back.
    pub cookies: Vec<String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("{}: {}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// The answer, if it has this status.
    pub fn expect(self, status: u16) -> anyhow::Result<Self> {
        ensure!(
            self.status == status,
            "{} instead of {status}: {}",
            self.status,
            String::from_utf8_lossy(&self.body)
        );
        Ok(self)
    }
}

/// What the head of an answer says.
struct Head {
    status: u16,
    etag: Option<String>,
    cookies: Vec<String>,
    length: Option<usize>,
    chunked: bool,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: address.to_string(), buffer: Vec::with_capacity(16 << 10) })
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<Answer> {
        self.ask("GET", path, "", b"").await
    }

    pub async fn post(&mut self, path: &str, json: &serde_json::Value) -> anyhow::Result<Answer> {
        self.ask("POST", path, "content-type: application/json\r\n", json.to_string().as_bytes()).await
    }

    /// `headers` are whole lines.
    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> anyhow::Result<Answer> {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n{headers}", self.host).into_bytes();
        if !body.is_empty() || method != "GET" {
            request.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        self.stream.write_all(&request).await?;
        self.answer().await
    }

    /// Sends a file as it is read.
    pub async fn send_file(&mut self, path: &str, mut file: tokio::fs::File) -> anyhow::Result<Answer> {
        let bytes = file.metadata().await?.len();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {bytes}\r\n\r\n", self.host);
        self.stream.write_all(head.as_bytes()).await?;
        tokio::io::copy(&mut file, &mut self.stream).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> anyhow::Result<Answer> {
        self.buffer.clear();
        let end = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            self.read_more().await?;
        };
        let head = parse_head(&self.buffer[..end])?;
        let body = if head.chunked {
            self.chunks(end).await?
        } else {
            let length = head.length.unwrap_or(0);
            let mut body = Vec::with_capacity(length);
            body.extend_from_slice(&self.buffer[end..]);
            while body.len() < length {
                ensure!(self.stream.read_buf(&mut body).await? > 0, CLOSED);
            }
            body
        };
        Ok(Answer { status: head.status, etag: head.etag, cookies: head.cookies, body })
    }

    async fn chunks(&mut self, mut at: usize) -> anyhow::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(line) = find(&self.buffer[at..], b"\r\n") {
                    break line;
                }
                self.read_more().await?;
            };
            let size = usize::from_str_radix(std::str::from_utf8(&self.buffer[at..at + line])?.trim(), 16)?;
            let begin = at + line + 2;
            while self.buffer.len() < begin + size + 2 {
                self.read_more().await?;
            }
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&self.buffer[begin..begin + size]);
            at = begin + size + 2;
        }
    }

    async fn read_more(&mut self) -> anyhow::Result<()> {
        ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, CLOSED);
        Ok(())
    }
}

fn parse_head(bytes: &[u8]) -> anyhow::Result<Head> {
    let text = std::str::from_utf8(bytes)?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.context("an HTTP answer")?;
    let mut head = Head { status, etag: None, cookies: Vec::new(), length: None, chunked: false };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            head.length = Some(value.parse()?);
        } else if name.eq_ignore_ascii_case("etag") {
            head.etag = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("set-cookie") {
            head.cookies.extend(value.split(';').next().map(str::to_owned));
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            head.chunked = value.eq_ignore_ascii_case("chunked");
        }
    }
    Ok(head)
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
