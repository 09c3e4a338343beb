//! A seller's server: it has files with tags, and takes webhooks.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::oneshot;

#[derive(Clone)]
pub struct Shop {
    pub address: SocketAddr,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Default)]
struct Inside {
    /// Path → (body, tag).
    files: HashMap<String, (String, String)>,
    /// Path → the rest of a body that comes when the test wishes, once.
    slow: HashMap<String, oneshot::Receiver<String>>,
    calls: Vec<Call>,
}

/// What was asked of the shop.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
    pub answer: StatusCode,
}

impl Shop {
    pub async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shop = Self { address: listener.local_addr().unwrap(), inside: Arc::default() };
        let router = Router::new().fallback(serve).with_state(shop.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        shop
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn lay(&self, path: &str, body: &str, etag: &str) {
        let file = (body.to_owned(), etag.to_owned());
        self.inside.lock().unwrap().files.insert(path.to_owned(), file);
    }

    /// Lays a file of which nothing comes until the rest of it is sent.
    pub fn lay_slow(&self, path: &str) -> oneshot::Sender<String> {
        let (sender, rest) = oneshot::channel();
        self.inside.lock().unwrap().slow.insert(path.to_owned(), rest);
        sender
    }

    /// The calls of a path so far.
    pub fn calls(&self, path: &str) -> Vec<Call> {
        self.inside.lock().unwrap().calls.iter().filter(|call| call.path == path).cloned().collect()
    }
}

async fn serve(State(shop): State<Shop>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let mut inside = shop.inside.lock().unwrap();
    let path = parts.uri.path().to_owned();
    let asked = parts.headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let slow = inside.slow.remove(&path);
    let response = match (slow, inside.files.get(&path)) {
        (Some(rest), _) => Body::from_stream(futures::stream::once(rest)).into_response(),
        _ if parts.method == Method::POST => StatusCode::NO_CONTENT.into_response(),
        (None, None) => StatusCode::NOT_FOUND.into_response(),
        (None, Some((_, etag))) if asked == Some(etag) => StatusCode::NOT_MODIFIED.into_response(),
        (None, Some((body, etag))) => ([(header::ETAG, etag.clone())], body.clone()).into_response(),
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    let answer = response.status();
    inside.calls.push(Call { method: parts.method, path, headers: parts.headers, body, answer });
    response
}
