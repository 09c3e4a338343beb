//! A server that sends pieces as told by the request's head.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// Sends it again and again.
    Forever(Vec<u8>),
    /// Sends nothing and keeps the connection.
    Hang,
}

impl Piece {
    pub(crate) fn text(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }

    pub(crate) fn redirect(to: &str) -> Self {
        Self::text(&format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"))
    }
}

pub(crate) struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(&str) -> Vec<Piece> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { port: listener.local_addr().unwrap().port(), asked: Arc::default() };
        let (script, asked) = (Arc::new(script), server.asked.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, asked) = (script.clone(), asked.clone());
                tokio::spawn(async move {
                    asked.fetch_add(1, Ordering::SeqCst);
                    serve(stream, &*script).await
                });
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many connections were made.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// Reads one head and answers it; `None` when the other side went away.
pub(crate) async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &(dyn Fn(&str) -> Vec<Piece> + Send + Sync),
) -> Option<()> {
    let head = read_head(&mut stream).await?;
    for piece in script(&head) {
        match piece {
            Piece::Bytes(bytes) => stream.write_all(&bytes).await.ok()?,
            Piece::Forever(bytes) => loop {
                stream.write_all(&bytes).await.ok()?;
            },
            Piece::Hang => {
                let _ = stream.flush().await;
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
            }
        }
    }
    stream.shutdown().await.ok()
}

pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
