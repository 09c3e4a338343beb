//! The server that the feeds are fetched from: it breaks off some answers, sends some slowly, and knows its tags.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::edition::Edition;

/// How many pieces a slow answer has.
const PIECES: usize = 8;
const MAX_HEAD_BYTES: usize = 16 << 10;

#[derive(Clone)]
pub(super) struct Shop {
    pub(super) address: SocketAddr,
    shelves: Arc<Mutex<Vec<Shelf>>>,
}

/// What lies at one url, and what was asked of it.
#[derive(Clone, Default)]
pub(super) struct Shelf {
    edition: Option<Arc<Edition>>,
    manners: Manners,
    pub(super) whole: u64,
    pub(super) broken_off: u64,
    pub(super) not_modified: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Manners {
    /// Now and then breaks off.
    #[default]
    Moody,
    AlwaysWhole,
    NeverWhole,
}

/// One answer as it will be sent.
struct Answer {
    head: String,
    body: Vec<u8>,
    pause: Option<Duration>,
}

impl Shop {
    pub(super) async fn open(shelves: usize, seed: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shelves = Arc::new(Mutex::new(vec![Shelf::default(); shelves]));
        let shop = Self { address, shelves };
        let (serving, mut random) = (shop.clone(), StdRng::seed_from_u64(seed));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shop, random) = (serving.clone(), StdRng::seed_from_u64(random.random()));
                // A client that dies in the middle is what this test is about.
                tokio::spawn(async move { shop.serve(stream, random).await });
            }
        });
        Ok(shop)
    }

    pub(super) fn url(&self, shelf: usize) -> String {
        format!("http://{}/{shelf}", self.address)
    }

    pub(super) fn lay(&self, shelf: usize, edition: Arc<Edition>) {
        self.with(shelf, |shelf| shelf.edition = Some(edition));
    }

    pub(super) fn mind(&self, shelf: usize, manners: Manners) {
        self.with(shelf, |shelf| shelf.manners = manners);
    }

    pub(super) fn seen(&self, shelf: usize) -> Shelf {
        self.with(shelf, |shelf| shelf.clone())
    }

    fn with<T>(&self, shelf: usize, change: impl FnOnce(&mut Shelf) -> T) -> T {
        let mut shelves = self.shelves.lock().expect("nobody panics with the shelves in hand");
        change(&mut shelves[shelf])
    }

    async fn serve(&self, mut stream: TcpStream, mut random: StdRng) -> anyhow::Result<()> {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") && request.len() < MAX_HEAD_BYTES {
            anyhow::ensure!(stream.read_buf(&mut request).await? > 0, "nothing was asked");
        }
        let request = String::from_utf8(request)?;
        let shelf: usize = request.split([' ', '/']).nth(2).context("a path")?.parse()?;
        let answer = self.with(shelf, |shelf| answer(shelf, &request, &mut random));
        stream.write_all(answer.head.as_bytes()).await?;
        let piece = (answer.body.len() / PIECES).max(1);
        for piece in answer.body.chunks(piece) {
            stream.write_all(piece).await?;
            if let Some(pause) = answer.pause {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(stream.shutdown().await?)
    }
}

fn answer(shelf: &mut Shelf, request: &str, random: &mut StdRng) -> Answer {
    let plain = |head: &str| Answer { head: head.to_owned(), body: Vec::new(), pause: None };
    let Some(edition) = shelf.edition.clone() else {
        return plain("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    };
    let whole = match shelf.manners {
        Manners::Moody => random.random_bool(0.75),
        Manners::AlwaysWhole => true,
        Manners::NeverWhole => false,
    };
    let etag = edition.etag();
    if whole && request.to_lowercase().contains(&format!("if-none-match: {etag}\r\n")) {
        shelf.not_modified += 1;
        return plain("HTTP/1.1 304 Not Modified\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    }
    let body = if whole { edition.body.as_slice() } else { broken_off(&edition.body, random) };
    *(if whole { &mut shelf.whole } else { &mut shelf.broken_off }) += 1;
    let (length, body) = if random.random_bool(0.5) {
        (format!("content-length: {}", edition.body.len()), body.to_vec())
    } else {
        // Without the last chunk the answer is not whole either.
        let end: &[u8] = if whole { b"\r\n0\r\n\r\n" } else { b"\r\n" };
        let chunk = format!("{:x}\r\n", body.len()).into_bytes();
        ("transfer-encoding: chunked".to_owned(), [&chunk, body, end].concat())
    };
    let head = format!("HTTP/1.1 200 OK\r\n{length}\r\netag: {etag}\r\nconnection: close\r\n\r\n");
    let pause = random.random_bool(0.5).then(|| Duration::from_millis(random.random_range(1..40)));
    Answer { head, body, pause }
}

/// Some lines of the body: what is there would do for a whole file of lines.
fn broken_off<'a>(body: &'a [u8], random: &mut StdRng) -> &'a [u8] {
    let cut = random.random_range(1..body.len());
    let line = body[..cut].iter().rposition(|byte| *byte == b'\n');
    &body[..line.map_or(cut, |line| line + 1)]
}
