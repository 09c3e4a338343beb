//! One POST of a small body, behind the same guards.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;

use crate::connect::connect;
use crate::error::causes;
use crate::target::Target;
use crate::{Error, Fetcher, Kind, Result};

impl Fetcher {
    /// Sends the body and gives the status of the answer, which is not read any further. Redirects are not followed: the
    /// body is for the one who was named.
    pub async fn post(&self, url: &str, headers: &[(&'static str, String)], body: Bytes) -> Result<u16> {
        let target = Target::parse(url)?;
        let name = target.to_string();
        match tokio::time::timeout(self.options().idle_timeout, self.send(&target, headers, body)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::idle(&name, self.options().idle_timeout)),
        }
    }

    async fn send(&self, target: &Target, headers: &[(&'static str, String)], body: Bytes) -> Result<u16> {
        let stream = connect(target, self.options(), self.tls()).await?;
        let failed = |error: hyper::Error| {
            Error::new(Kind::Unreachable, format!("{target} does not speak HTTP: {}", causes(&error)))
        };
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(failed)?;
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = Method::POST;
        // The parser of urls leaves nothing in a path that could not stand in a request line.
        *request.uri_mut() = target.path().parse().unwrap_or_default();
        let own = [
            (HOST, target.authority()),
            (USER_AGENT, self.options().user_agent.clone()),
            (CONNECTION, "close".to_owned()),
            (CONTENT_LENGTH, body.len().to_string()),
        ];
        let given = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.clone()));
        for (name, value) in own.into_iter().chain(given) {
            if let Ok(value) = HeaderValue::from_str(&value) {
                request.headers_mut().insert(name, value);
            }
        }
        if let Some(authorization) = &target.authorization {
            request.headers_mut().insert(hyper::header::AUTHORIZATION, authorization.clone());
        }
        let mut answer = std::pin::pin!(sender.send_request(request));
        let answer = tokio::select! {
            biased;
            answer = &mut answer => answer,
            // The connection drives the answer; the one who hangs up may have answered first.
            _ = connection => answer.await,
        };
        Ok(answer.map_err(failed)?.status().as_u16())
    }
}
