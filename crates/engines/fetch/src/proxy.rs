//! A proxy through which all connections go, by CONNECT to an address that was judged here.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use url::Url;

use crate::error::causes;
use crate::target::basic;
use crate::{Error, Kind};

/// `http://[user:password@]host:port`. Its own address comes from the operator and is not judged.
#[derive(Clone)]
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

impl FromStr for Proxy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::new(Kind::Options, "a proxy is http://[user:password@]host:port");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let host = url.host_str().filter(|_| url.scheme() == "http").ok_or_else(wrong)?;
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        Ok(Self { host: host.trim_matches(['[', ']']).to_owned(), port, authorization: basic(&url) })
    }
}

impl Proxy {
    /// A tunnel to this very address; whatever name the tunnel's user speaks, the proxy looks nothing up.
    pub(crate) async fn tunnel(&self, address: SocketAddr) -> Result<TokioIo<Upgraded>, String> {
        let stream = TcpStream::connect((self.host.as_str(), self.port))
            .await
            .map_err(|error| format!("the proxy cannot be reached: {error}"))?;
        let broken = |error: hyper::Error| format!("the proxy failed: {}", causes(&error));
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection.with_upgrades());
        let mut request = Request::builder()
            .method(Method::CONNECT)
            .uri(address.to_string())
            .header(HOST, address.to_string())
            .body(Empty::<Bytes>::new())
            .map_err(|error| error.to_string())?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        let answer = sender.send_request(request).await.map_err(broken)?;
        if !answer.status().is_success() {
            return Err(format!("the proxy answered {}", answer.status().as_u16()));
        }
        hyper::upgrade::on(answer).await.map(TokioIo::new).map_err(broken)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}:{}", self.host, self.port)
    }
}
