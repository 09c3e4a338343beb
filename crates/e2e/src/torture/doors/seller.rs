//! The seller who means no harm.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;

use crate::http::Client;

/// Between two calls.
const PAUSE: Duration = Duration::from_millis(10);

/// How long calls took.
#[derive(Clone, Debug)]
pub struct Waits {
    pub calls: usize,
    pub median: Duration,
    pub p99: Duration,
}

fn headers(token: &str) -> String {
    format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\nif-match: *\r\n")
}

/// The offer that is worked on.
pub(super) async fn publish(address: SocketAddr, token: &str) -> anyhow::Result<String> {
    let body = json!({
        "seller_id": "good", "category": {"id": "smartphones"}, "title": "iPhone 13",
        "attributes": [{"id": "brand", "value": "Apple"}],
    });
    let mut client = Client::connect(address).await?;
    let made = client.ask("POST", "/v1/offers", &headers(token), body.to_string().as_bytes()).await?;
    let made = made.expect(201)?.json()?;
    made["id"].as_str().map(str::to_owned).context("an offer's id")
}

/// Reads and changes the offer in turn for a while, on one connection.
pub(super) async fn work(
    address: SocketAddr,
    token: &str,
    offer: &str,
    period: Duration,
) -> anyhow::Result<Waits> {
    let mut client = Client::connect(address).await?;
    let (path, headers) = (format!("/v1/offers/{offer}"), headers(token));
    let mut waits = Vec::new();
    let began = Instant::now();
    while began.elapsed() < period {
        let asked = Instant::now();
        if waits.len() % 2 == 0 {
            client.ask("GET", &path, &headers, b"").await?.expect(200)?;
        } else {
            let body = json!({"title": format!("iPhone 13, {}", waits.len())}).to_string();
            client.ask("PATCH", &path, &headers, body.as_bytes()).await?.expect(200)?;
        }
        waits.push(asked.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    waits.sort_unstable();
    let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
    Ok(Waits { calls: waits.len(), median: at(50), p99: at(99) })
}
