//! One GET, over as many redirects as are allowed.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, ETAG, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kit::Shutdown;
use tokio::time::Instant;

use crate::connect::connect;
use crate::download::Download;
use crate::error::causes;
use crate::target::Target;
use crate::{Error, Kind, Options, Result};

/// Room for the head of an answer.
const MAX_HEAD_BYTES: usize = 128 << 10;

/// What is known from the last time; empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditional {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

/// What a GET brought.
#[derive(Debug)]
pub enum Answer {
    /// What is known from the last time still holds.
    NotModified,
    Body(Box<Download>),
}

/// Downloads within its options. Clones share them.
#[derive(Clone, Debug)]
pub struct Fetcher {
    options: Arc<Options>,
    tls: Result<Arc<rustls::ClientConfig>>,
}

impl Fetcher {
    /// Where no authorities are known (a machine without any), http is fetched and https is unreachable.
    pub fn new(options: Options) -> Self {
        let tls = options.tls_config();
        if let Err(error) = &tls {
            tracing::warn!("https cannot be fetched: {error}");
        }
        Self { options: Arc::new(options), tls }
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn tls(&self) -> &Result<Arc<rustls::ClientConfig>> {
        &self.tls
    }

    /// Asks for the url and follows redirects; the body is still to be read from the answer.
    pub async fn get(&self, url: &str, conditional: &Conditional) -> Result<Answer> {
        let deadline = Instant::now() + self.options.total_timeout;
        let target = Target::parse(url)?;
        let name = target.to_string();
        match tokio::time::timeout_at(deadline, self.follow(target, conditional, deadline)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::total(&name, self.options.total_timeout)),
        }
    }

    async fn follow(
        &self,
        mut target: Target,
        conditional: &Conditional,
        deadline: Instant,
    ) -> Result<Answer> {
        for _ in 0..=self.options.max_redirects {
            let (response, end) = self.ask(&target, conditional).await?;
            let status = response.status();
            match status {
                StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => {
                    let download = Download::new(target.to_string(), response, end, deadline, &self.options)?;
                    return Ok(Answer::Body(Box::new(download)));
                }
                StatusCode::NOT_MODIFIED if *conditional != Conditional::default() => {
                    return Ok(Answer::NotModified);
                }
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    let location = text(response.headers(), &LOCATION).ok_or_else(|| {
                        Error::new(
                            Kind::BadStatus(status.as_u16()),
                            format!("{target} redirects without a Location"),
                        )
                    })?;
                    target = target.follow(&location)?;
                }
                _ => {
                    let status = status.as_u16();
                    return Err(Error::new(
                        Kind::BadStatus(status),
                        format!("{target} was answered with status {status}"),
                    ));
                }
            }
        }
        let most = self.options.max_redirects;
        Err(Error::new(Kind::TooManyRedirects, format!("more than {most} redirects, the last to {target}")))
    }

    /// Connects and reads the head of the answer. The connection lives as long as what is returned beside it.
    async fn ask(
        &self,
        target: &Target,
        conditional: &Conditional,
    ) -> Result<(Response<Incoming>, ConnectionEnd)> {
        let stream = connect(target, &self.options, &self.tls).await?;
        let failed = |error: hyper::Error| {
            Error::new(Kind::Unreachable, format!("{target} does not speak HTTP: {}", causes(&error)))
        };
        let talk = async {
            let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
                .max_buf_size(MAX_HEAD_BYTES)
                .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
                .await?;
            let end = ConnectionEnd(Shutdown::new());
            let ended = end.0.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = ended.called() => {}
                    // What fails here is told by the body.
                    _ = connection => {}
                }
            });
            Ok((sender.send_request(self.request(target, conditional)).await?, end))
        };
        match tokio::time::timeout(self.options.idle_timeout, talk).await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(Error::idle(&target.to_string(), self.options.idle_timeout)),
        }
    }

    fn request(&self, target: &Target, conditional: &Conditional) -> Request<Empty<Bytes>> {
        let mut request = Request::new(Empty::new());
        // The parser of urls leaves nothing in a path that could not stand in a request line.
        *request.uri_mut() = target.path().parse().unwrap_or_default();
        let headers = request.headers_mut();
        let mut put = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        put(HOST, &target.authority());
        put(USER_AGENT, &self.options.user_agent);
        put(ACCEPT, "*/*");
        // Bytes are counted and hashed as they come.
        put(ACCEPT_ENCODING, "identity");
        put(CONNECTION, "close");
        if let Some(etag) = &conditional.etag {
            put(IF_NONE_MATCH, etag);
        }
        if let Some(last_modified) = &conditional.last_modified {
            put(IF_MODIFIED_SINCE, last_modified);
        }
        if let Some(authorization) = &target.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        request
    }
}

/// Ends the connection when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionEnd(Shutdown);

impl Drop for ConnectionEnd {
    fn drop(&mut self) {
        self.0.call();
    }
}

/// A header as text, if it is one.
pub(crate) fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

impl Conditional {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { etag: text(headers, &ETAG), last_modified: text(headers, &LAST_MODIFIED) }
    }
}
