//! The sellers' own server: their feeds under `/feeds/`, their photos under `/photos/`; and `/oembed` knows their videos.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use kit::Tasks;
use serde_json::json;
use tokio::net::TcpListener;

use super::files::{self, Google};
use super::picture;

/// Clones share it.
#[derive(Clone)]
pub(super) struct Shop {
    pub(super) base: String,
    /// Grows when the sellers change something.
    turn: Arc<AtomicUsize>,
}

impl Shop {
    pub(super) fn feed(&self, name: &str) -> String {
        format!("{}/feeds/{name}", self.base)
    }

    /// The sellers change prices, and the files change with them.
    pub(super) fn turn_over(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Serves until the tasks end.
pub(super) fn open(listener: std::net::TcpListener, tasks: &Tasks) -> Result<Shop> {
    listener.set_nonblocking(true).context("the sample sellers' server")?;
    let listener = TcpListener::from_std(listener).context("the sample sellers' server")?;
    let base = format!("http://{}", listener.local_addr().context("its address")?);
    let shop = Shop { base, turn: Arc::new(AtomicUsize::new(0)) };
    let routes = Router::new()
        .route("/feeds/{name}", get(feed))
        .route("/photos/{name}", get(photo))
        .route("/oembed", get(video))
        .with_state(shop.clone());
    let shutdown = tasks.shutdown().clone();
    tasks.spawn("demo shop", async move {
        let served =
            axum::serve(listener, routes).with_graceful_shutdown(async move { shutdown.called().await });
        if let Err(error) = served.await {
            tracing::warn!("the sample sellers' server ended: {error}");
        }
    });
    Ok(shop)
}

async fn feed(State(shop): State<Shop>, Path(name): Path<String>) -> Response {
    let (base, turn) = (&shop.base, shop.turn.load(Ordering::Relaxed));
    let text = match name.as_str() {
        "tools.xml" => files::own_xml(base, turn),
        "garden.xml" => files::avito(base, turn),
        "books.rss" => files::google(base, Google::Rss, turn),
        "books.atom" => files::google(base, Google::Atom, turn),
        "cut-off.rss" => files::cut_off(base),
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    ([(header::CONTENT_TYPE, "application/xml; charset=utf-8")], text).into_response()
}

async fn photo(Path(name): Path<String>) -> Response {
    if name == "missing.png" {
        return StatusCode::NOT_FOUND.into_response();
    }
    let drawn = tokio::task::spawn_blocking(move || picture::png(&name)).await;
    match drawn {
        Ok(Ok(file)) => ([(header::CONTENT_TYPE, "image/png")], file).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Every video is there but the one of the saw, which its seller took away.
async fn video(Query(question): Query<HashMap<String, String>>) -> Response {
    match question.get("url") {
        Some(url) if !url.ends_with("/saw-190") => Json(json!({"type": "video"})).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
