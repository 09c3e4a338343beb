use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use futures::StreamExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;

use super::Common;
use super::exit::{self, Failure};
use crate::access::{Access, Door, LocalKey};
use crate::app::{App, Part};
use crate::config::Config;
use crate::data::{self, Running};
use crate::{http, telemetry};
use web::ProblemBody;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Who answers a command: the running server, or the same routes in this process.
pub enum Backend {
    Server { client: reqwest::Client, base: String, token: Option<String> },
    Here { app: App, router: Router },
}

/// What to do when there is no store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Refused,
    Made,
}

pub fn with_query(path: &str, query: &[(&str, String)]) -> String {
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", segment(value))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}

impl Backend {
    /// Finds the running server in the data folder; without one, opens the store, which must be there.
    pub async fn open(common: &Common) -> Result<Self> {
        Self::find(common, Missing::Refused).await
    }

    /// Likewise, and makes a store where there is none: for what comes before the first start.
    pub async fn open_or_make(common: &Common) -> Result<Self> {
        Self::find(common, Missing::Made).await
    }

    async fn find(common: &Common, missing: Missing) -> Result<Self> {
        let token = token();
        if let Some(server) = &common.server {
            return Self::server(base_of("--server", server)?, token);
        }
        let config = common.load()?;
        let running = Running::read(&config.data);
        if let Some(running) = &running
            && let address = reachable(running.http)
            && answers(address).await
        {
            let key = std::fs::read_to_string(LocalKey::path(&config.data)).ok();
            return Self::server(format!("http://{address}"), token.or(key));
        }
        let folder = config.store.first().and_then(|url| url.strip_prefix("embedded:"));
        if let Some(folder) =
            folder.filter(|folder| missing == Missing::Refused && !Path::new(folder).exists())
        {
            let detail = format!(
                "there is no store in {folder}; `dvor serve` begins one, and --data names another folder"
            );
            return Err(Failure::of(exit::NOT_FOUND, detail));
        }
        Self::here(config).await
    }

    fn server(base: String, token: Option<String>) -> Result<Self> {
        Ok(Self::Server { client: client()?, base, token })
    }

    async fn here(config: Config) -> Result<Self> {
        data::make(&config.data)?;
        let app = App::open(config, telemetry::metrics()?, Part::Onlooker).await?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let router = http::router(Door { app: app.clone(), address }, None);
        Ok(Self::Here { app, router })
    }

    pub async fn close(self) -> Result<()> {
        match self {
            Self::Server { .. } => Ok(()),
            Self::Here { app, .. } => app.close().await,
        }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T> {
        self.call(Method::GET, &with_query(path, query), None).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.call(Method::POST, path, Some(serde_json::to_vec(body)?)).await
    }

    pub async fn put_json<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        self.call(Method::PUT, path, Some(serde_json::to_vec(body)?)).await
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.call(Method::PUT, path, None).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.call(Method::DELETE, path, None).await
    }

    /// Streams a file to the server. Without one nobody would process it.
    pub async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        pieces: impl futures::Stream<Item = std::io::Result<bytes::Bytes>> + Send + 'static,
        bytes: u64,
    ) -> Result<T> {
        let Self::Server { client, base, token } = self else {
            let detail = "no server is running to take the file: start one with `dvor serve`";
            return Err(Failure::of(exit::UNAVAILABLE, detail));
        };
        let mut request = client
            .post(format!("{base}{path}"))
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_LENGTH, bytes)
            .body(reqwest::Body::wrap_stream(pieces));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.map_err(|error| unreachable_server(base, &error))?;
        let status = response.status();
        let answer = response.bytes().await.map_err(|error| unreachable_server(base, &error))?;
        if status.is_success() {
            return serde_json::from_slice(&answer)
                .context("the server's answer cannot be read: is it another version?");
        }
        Err(refusal(status, &answer))
    }

    /// What a server answers to a request of its own kind.
    pub async fn answer_of(request: reqwest::RequestBuilder) -> Result<Vec<u8>> {
        let sent = request.send().await.map_err(|error| unreachable_server(&asked(&error), &error))?;
        let status = sent.status();
        let answer = sent.bytes().await.map_err(|error| unreachable_server(&asked(&error), &error))?;
        if status.is_success() { Ok(answer.into()) } else { Err(refusal(status, &answer)) }
    }

    /// Writes an answer as it comes.
    pub async fn stream(&self, path: &str, out: &mut (impl Write + Send)) -> Result<()> {
        match self {
            Self::Server { client, base, token } => {
                let mut request = client.get(format!("{base}{path}"));
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                let lost = |error: reqwest::Error| unreachable_server(base, &error);
                let mut response = request.send().await.map_err(lost)?;
                if !response.status().is_success() {
                    let status = response.status();
                    return Err(refusal(status, &response.bytes().await.map_err(lost)?));
                }
                while let Some(piece) = response.chunk().await.map_err(lost)? {
                    out.write_all(&piece)?;
                }
            }
            Self::Here { router, .. } => {
                let request = Request::builder()
                    .uri(path)
                    .extension(Access::without_token("local command"))
                    .body(Body::empty())?;
                let response = router.clone().oneshot(request).await?;
                let status = response.status();
                if !status.is_success() {
                    return Err(refusal(status, &to_bytes(response.into_body(), MAX_ANSWER_BYTES).await?));
                }
                let mut pieces = response.into_body().into_data_stream();
                while let Some(piece) = pieces.next().await {
                    out.write_all(&piece?)?;
                }
            }
        }
        Ok(out.flush()?)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<T> {
        let (status, answer) = match self {
            Self::Server { client, base, token } => {
                let mut request = client.request(method, format!("{base}{path}"));
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                if let Some(body) = body {
                    request = request.header(header::CONTENT_TYPE, "application/json").body(body);
                }
                let sent = request.send().await;
                let response = sent.map_err(|error| unreachable_server(base, &error))?;
                (response.status(), response.bytes().await.map_err(|error| unreachable_server(base, &error))?)
            }
            Self::Here { router, .. } => {
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::CONTENT_TYPE, "application/json")
                    .extension(Access::without_token("local command"))
                    .body(Body::from(body.unwrap_or_default()))?;
                let response = router.clone().oneshot(request).await?;
                (response.status(), to_bytes(response.into_body(), MAX_ANSWER_BYTES).await?)
            }
        };
        if status.is_success() {
            // Some answers are a status alone.
            let answer = if answer.is_empty() { &b"null"[..] } else { &answer };
            return serde_json::from_slice(answer)
                .context("the server's answer cannot be read: is it another version?");
        }
        Err(refusal(status, &answer))
    }
}

/// What a problem means for a command.
fn refusal(status: StatusCode, answer: &[u8]) -> anyhow::Error {
    let code = match status.as_u16() {
        401 | 403 => exit::DENIED,
        404 => exit::NOT_FOUND,
        400 | 413 | 415 | 422 => exit::USAGE,
        429 | 503 => exit::UNAVAILABLE,
        _ => exit::FAILED,
    };
    let text = match serde_json::from_slice::<ProblemBody>(answer) {
        Ok(problem) if status.is_server_error() => format!("{}: {}", problem.title, problem.detail),
        Ok(problem) if status == StatusCode::UNAUTHORIZED => format!("{} (set DVOR_TOKEN)", problem.detail),
        Ok(problem) => problem.detail,
        Err(_) => format!("the server answered {status}"),
    };
    Failure::of(code, text)
}

pub fn client() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).no_proxy().build()?)
}

/// The access token that this command shows.
pub fn token() -> Option<String> {
    std::env::var("DVOR_TOKEN").ok().filter(|token| !token.is_empty())
}

/// Which server a failed request was for.
fn asked(error: &reqwest::Error) -> String {
    error.url().map_or_else(|| "the address".to_owned(), |url| url.origin().ascii_serialization())
}

/// The address that a flag names: `HOST:PORT` is one of HTTP.
pub fn base_of(flag: &str, server: &str) -> Result<String> {
    let named = if server.contains("://") { server.to_owned() } else { format!("http://{server}") };
    let base = named.trim_end_matches('/').to_owned();
    let is_address = reqwest::Url::parse(&base).is_ok_and(|url| {
        ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
    });
    let wrong =
        || format!("{flag}: {server:?} is not the address of a server, such as http://127.0.0.1:7080");
    if is_address { Ok(base) } else { Err(Failure::of(exit::USAGE, wrong())) }
}

fn unreachable_server(base: &str, error: &reqwest::Error) -> anyhow::Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let refused = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    let reason = match refused {
        Some(std::io::ErrorKind::ConnectionRefused) => "nothing listens there".to_owned(),
        _ if base.starts_with("https://") && cause.to_string().contains("InvalidContentType") => {
            "it does not speak TLS; use http://".to_owned()
        }
        _ => cause.to_string(),
    };
    Failure::of(exit::UNAVAILABLE, format!("the server at {base} does not answer: {reason}"))
}

/// The address by which a listener is reached from its own machine.
pub fn reachable(listener: SocketAddr) -> SocketAddr {
    let ip = match listener.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listener.port())
}

async fn answers(address: SocketAddr) -> bool {
    tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::TcpStream::connect(address))
        .await
        .is_ok_and(|tried| tried.is_ok())
}

/// A text as one segment of a path or one value of a query.
pub fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_its_address() {
        assert_eq!(base_of("--server", "127.0.0.1:7080").unwrap(), "http://127.0.0.1:7080");
        assert_eq!(base_of("--server", "http://localhost:7080/").unwrap(), "http://localhost:7080");
        assert_eq!(base_of("--server", "https://dvor.example").unwrap(), "https://dvor.example");
        for wrong in ["", "ftp://a", "http://", "http://a/v1", "a b", "http://a?x=1"] {
            let error = base_of("--server", wrong).unwrap_err();
            assert_eq!(exit::code(&error), exit::USAGE, "{wrong}");
        }
    }
}
