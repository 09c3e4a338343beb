//! HTTP figures: a number of connections, each asking as fast as it is answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::bench::Rate;
use crate::http::Client;

/// A question: method, path, further header lines, body, and the status that is right.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: &'static str,
    pub path: String,
    pub headers: &'static str,
    pub body: Vec<u8>,
    pub status: u16,
}

impl Question {
    pub fn get(path: String) -> Self {
        Self { method: "GET", path, headers: "", body: Vec::new(), status: 200 }
    }
}

/// Asks for a while; every question has a number of its own. A wrong status ends the measurement.
pub async fn rate(
    address: SocketAddr,
    connections: usize,
    time: Duration,
    question: impl Fn(u64) -> Question + Send + Sync + Clone + 'static,
) -> anyhow::Result<Rate> {
    let next = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let mut clients = Vec::with_capacity(connections);
    for _ in 0..connections {
        clients.push(Client::connect(address).await?);
    }
    let began = Instant::now();
    let runners: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            let (next, over, question) = (next.clone(), over.clone(), question.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let question = question(next.fetch_add(1, Ordering::Relaxed));
                    let call = Instant::now();
                    let answer =
                        client.ask(question.method, &question.path, question.headers, &question.body).await?;
                    times.push(call.elapsed().as_micros() as u64);
                    answer.expect(question.status)?;
                }
                Ok::<_, anyhow::Error>(times)
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for runner in runners {
        times.extend(runner.await??);
    }
    Ok(Rate::of(times, began.elapsed()))
}
