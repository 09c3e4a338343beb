//! Those who behave badly. Each comes from an address of the loopback network that is not the good seller's.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::{Plan, head};

/// Connections of one address.
const PER_ADDRESS: usize = 500;
/// A slow one sends a byte this often.
const SLOW: Duration = Duration::from_millis(250);
const SLOW_BYTES: usize = 1 << 20;
const LARGE_BYTES: usize = 4_000_000;
/// Large bodies under way at the same time.
const LARGE_AT_ONCE: usize = 10;
/// The seller who uses all quotas asks this often.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Statuses with how often they were heard; 0: the connection was closed.
#[derive(Clone, Debug, Default)]
pub struct Answers(Arc<Mutex<BTreeMap<(&'static str, u16), usize>>>);

impl Answers {
    fn note(&self, what: &'static str, status: u16) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((what, status)).or_default() += 1;
    }

    pub fn counts(&self) -> BTreeMap<(&'static str, u16), usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All of them; they go when the set is dropped.
pub(super) fn gather(
    crowd: &mut JoinSet<()>,
    plan: &Plan,
    address: SocketAddr,
    token: &str,
    answers: &Answers,
) {
    for number in 0..plan.silent {
        crowd.spawn(silent(address, number, answers.clone()));
    }
    for number in 0..plan.slow {
        crowd.spawn(slow(address, plan.silent + number, token.to_owned(), answers.clone()));
    }
    let first = plan.silent + plan.slow;
    for turn in 0..LARGE_AT_ONCE {
        let bodies = plan.large / LARGE_AT_ONCE + usize::from(turn < plan.large % LARGE_AT_ONCE);
        crowd.spawn(large(address, first + turn, bodies, token.to_owned(), answers.clone()));
    }
    crowd.spawn(greedy(address, first + LARGE_AT_ONCE, token.to_owned(), answers.clone()));
}

async fn connect(address: SocketAddr, number: usize) -> std::io::Result<TcpStream> {
    let from = Ipv4Addr::new(127, 0, 1, (number / PER_ADDRESS + 1) as u8);
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((from, 0)))?;
    socket.connect(address).await
}

/// The status of the answer; 0 if there is none.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut line = [0; 12];
    match stream.read_exact(&mut line).await {
        Ok(_) => std::str::from_utf8(&line[9..]).ok().and_then(|code| code.parse().ok()).unwrap_or(0),
        Err(_) => 0,
    }
}

/// Says nothing, and comes again when it is sent away.
async fn silent(address: SocketAddr, number: usize, answers: Answers) {
    loop {
        if let Ok(mut stream) = connect(address, number).await {
            answers.note("silent", status(&mut stream).await);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A feed, byte by byte.
async fn slow(address: SocketAddr, number: usize, token: String, answers: Answers) {
    let Ok(stream) = connect(address, number).await else { return };
    let (mut read, mut write) = stream.into_split();
    let path = "/v1/sellers/bad/feeds/slow/uploads";
    if write.write_all(head("POST", path, address, &token, SLOW_BYTES).as_bytes()).await.is_err() {
        return;
    }
    let mut line = [0; 12];
    let drip = async {
        while write.write_all(b" ").await.is_ok() {
            tokio::time::sleep(SLOW).await;
        }
    };
    tokio::select! {
        heard = read.read_exact(&mut line) => {
            let code = heard.ok().and_then(|_| std::str::from_utf8(&line[9..]).ok()?.parse().ok());
            answers.note("slow upload", code.unwrap_or(0));
        }
        () = drip => answers.note("slow upload", 0),
    }
}

/// As much as a body may have, of a call that is then refused.
async fn large(address: SocketAddr, number: usize, bodies: usize, token: String, answers: Answers) {
    let body = format!("{{\"seller_id\":\"bad\",\"title\":\"{}\"}}", "x".repeat(LARGE_BYTES)).into_bytes();
    for _ in 0..bodies {
        let Ok(mut stream) = connect(address, number).await else { continue };
        let sent = stream.write_all(head("POST", "/v1/offers", address, &token, body.len()).as_bytes()).await;
        if sent.is_ok() {
            // Who is refused early is not read to the end.
            let _ = stream.write_all(&body).await;
            answers.note("large body", status(&mut stream).await);
        }
    }
}

/// Everything that has a quota, again and again.
async fn greedy(address: SocketAddr, number: usize, token: String, answers: Answers) {
    let feed = "<?xml version=\"1.0\"?>\n<feed version=\"1\">\n<offers>\n</offers>\n</feed>\n";
    let url = "{\"url\":\"http://192.0.2.1/feed.xml\"}";
    let calls = [
        ("PUT", "/v1/sellers/bad/feeds/fetched", url),
        ("POST", "/v1/sellers/bad/feeds/default/uploads", feed),
        ("POST", "/v1/sellers/bad/feeds/fetched/fetch", ""),
        ("POST", "/v1/sellers/bad/feeds/default/tasks/1/rerun", ""),
        ("POST", "/v1/sellers/bad/photos", "no photo"),
    ];
    loop {
        for (method, path, body) in calls {
            let Ok(mut stream) = connect(address, number).await else { continue };
            let call = head(method, path, address, &token, body.len()) + body;
            if stream.write_all(call.as_bytes()).await.is_ok() {
                answers.note("quota", status(&mut stream).await);
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}
