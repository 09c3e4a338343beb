//! Stands between the store and the server, counts round trips and cuts the line on purpose.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
pub(crate) struct Line {
    /// How often a client that had all its answers asked again.
    pub(crate) trips: AtomicUsize,
    /// The connection for wake-ups has asked all that it asks by itself.
    pub(crate) listens: AtomicBool,
    /// Cuts the connection when the next COMMIT comes by: before or after the server has it.
    pub(crate) cut_before_commit: AtomicBool,
    pub(crate) cut_after_commit: AtomicBool,
}

/// Starts a proxy to the server of `url` and gives the URL that leads through it.
pub(crate) async fn start(url: &str) -> (Arc<Line>, String) {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else { panic!("needs TCP") };
    let server = format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // What is encrypted cannot be counted.
    let through = url.replacen(&server, &address, 1);
    let mark = if through.contains('?') { '&' } else { '?' };
    let line = Arc::new(Line::default());
    let counting = line.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(carry(client, server, counting.clone()));
        }
    });
    (line, format!("{through}{mark}sslmode=disable"))
}

async fn carry(client: TcpStream, server: TcpStream, line: Arc<Line>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    // Everything asked and not yet answered; the first question is the start-up itself.
    let open = Arc::new(AtomicUsize::new(0));
    let (asked, answered) = (open.clone(), open);
    let counted = line.clone();
    let mut there = tokio::spawn(async move {
        let mut questions = Frames { tagged: false, bytes: Vec::new() };
        let mut buffer = vec![0; 1 << 20];
        while let Ok(count @ 1..) = from_client.read(&mut buffer).await {
            let (mut commits, mut listens) = (false, false);
            for (tag, body) in questions.split(&buffer[..count]) {
                if matches!(tag, 0 | b'Q' | b'S') && asked.fetch_add(1, Ordering::SeqCst) == 0 {
                    counted.trips.fetch_add(1, Ordering::SeqCst);
                }
                commits |= tag == b'Q' && body.starts_with(b"COMMIT");
                listens |= tag == b'P' && String::from_utf8_lossy(&body).contains("pg_notify");
            }
            counted.listens.fetch_or(listens, Ordering::SeqCst);
            if commits && counted.cut_before_commit.swap(false, Ordering::SeqCst) {
                return;
            }
            if to_server.write_all(&buffer[..count]).await.is_err() {
                return;
            }
            if commits && counted.cut_after_commit.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
        }
    });
    let mut back = tokio::spawn(async move {
        let mut answers = Frames { tagged: true, bytes: Vec::new() };
        let mut buffer = vec![0; 1 << 20];
        while let Ok(count @ 1..) = from_server.read(&mut buffer).await {
            for (tag, body) in answers.split(&buffer[..count]) {
                if tag == b'Z' {
                    answered.fetch_sub(1, Ordering::SeqCst);
                }
                if tag == b'C'
                    && body.starts_with(b"COMMIT")
                    && line.cut_after_commit.swap(false, Ordering::SeqCst)
                {
                    return;
                }
            }
            if to_client.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    });
    tokio::select! {
        _ = &mut there => back.abort(),
        _ = &mut back => there.abort(),
    }
}

/// Cuts a stream of bytes into messages. A client's first message has no tag; it is given as 0.
struct Frames {
    tagged: bool,
    bytes: Vec<u8>,
}

impl Frames {
    fn split(&mut self, bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        self.bytes.extend_from_slice(bytes);
        let mut frames = Vec::new();
        loop {
            let head = usize::from(self.tagged);
            let Some(length) = self.bytes.get(head..head + 4) else { return frames };
            let end = head + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.bytes.len() < end {
                return frames;
            }
            let rest = self.bytes.split_off(end);
            let frame = std::mem::replace(&mut self.bytes, rest);
            let tag = if self.tagged { frame[0] } else { 0 };
            frames.push((tag, frame[head + 4..].to_vec()));
            self.tagged = true;
        }
    }
}

/// What a client sends first that wants encryption: its length, and a number for a version that there is not.
const ENCRYPT: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A proxy that agrees to encrypt and then cannot. Gives the URL that leads through it, without options.
pub(crate) async fn start_with_broken_encryption(url: &str) -> String {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else { panic!("needs TCP") };
    let server = format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let through = url.replacen(&server, &address, 1);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(refuse_encryption(client, server.clone()));
        }
    });
    through.split_once('?').map_or(through.as_str(), |(address, _)| address).to_owned()
}

async fn refuse_encryption(mut client: TcpStream, server: String) {
    let mut first = [0; 8];
    if client.read_exact(&mut first).await.is_err() {
        return;
    }
    if first == ENCRYPT {
        let _ = client.write_all(b"S").await;
        // Nothing that a handshake begins with.
        let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        return;
    }
    let mut server = TcpStream::connect(server).await.unwrap();
    server.write_all(&first).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}
