//! A browser without a window: it keeps cookies and knows the form's token of the last page.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;
use web::Access;

pub(crate) struct Browser {
    router: Router,
    pub(crate) cookies: Vec<(String, String)>,
    /// On this machine, before any token was made.
    at_home: bool,
    pub(crate) language: &'static str,
}

/// What came back.
pub(crate) struct Seen {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Seen {
    pub(crate) fn location(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |value| value.to_str().unwrap())
    }

    /// The token that this page's forms have.
    pub(crate) fn csrf(&self) -> String {
        let (_, rest) = self.text.split_once("data-csrf=\"").expect("a page");
        rest.split('"').next().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn has(&self, words: &str) -> &Self {
        assert!(self.text.contains(words), "{words:?} is not in {}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&self, words: &str) -> &Self {
        assert!(!self.text.contains(words), "{words:?} is in {}", self.text);
        self
    }
}

impl Browser {
    /// One who has not logged in.
    pub(crate) fn stranger(router: &Router) -> Self {
        Self { router: router.clone(), cookies: Vec::new(), at_home: false, language: "en" }
    }

    /// One with a session.
    pub(crate) fn with_token(router: &Router, token: &str) -> Self {
        let cookies = vec![(console::SESSION_COOKIE.to_owned(), token.to_owned())];
        Self { cookies, ..Self::stranger(router) }
    }

    /// One on the server's machine, where no token was ever made.
    pub(crate) fn at_home(router: &Router) -> Self {
        Self { at_home: true, ..Self::stranger(router) }
    }

    pub(crate) async fn get(&mut self, address: &str) -> Seen {
        self.send(Method::GET, address, &[], Body::empty()).await
    }

    /// Sends a form with the token of a page that was loaded before.
    pub(crate) async fn post(&mut self, address: &str, fields: &[(&str, &str)]) -> Seen {
        let csrf = self.get("/console/login").await;
        // Whoever is logged in is sent on from there.
        let csrf = if csrf.status == StatusCode::OK { csrf } else { self.get("/console/find?q=").await };
        let token = csrf.csrf();
        self.post_raw(address, &[fields, &[("csrf", &token)]].concat()).await
    }

    pub(crate) async fn post_raw(&mut self, address: &str, fields: &[(&str, &str)]) -> Seen {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.send(Method::POST, address, &[kind], Body::from(body)).await
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        address: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Seen {
        let address = address.split('#').next().unwrap();
        let mut request =
            Request::builder().method(method).uri(address).header("accept-language", self.language);
        if !self.cookies.is_empty() {
            let line: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header(header::COOKIE, line.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(body).unwrap();
        if self.at_home {
            request.extensions_mut().insert(Access::without_token("anyone on this machine"));
        }
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        for line in parts.headers.get_all(header::SET_COOKIE) {
            self.keep(line.to_str().unwrap());
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Seen { status: parts.status, headers: parts.headers, text }
    }

    fn keep(&mut self, line: &str) {
        let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
        self.cookies.retain(|(known, _)| known != name);
        if !line.contains("Max-Age=0") {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }
}
