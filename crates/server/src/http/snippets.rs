use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use snippets::Snippets;
use snippets::api::http::{DOCUMENTS, TOO_LARGE, document, is_about_a_document};
use tower::Service as _;
use web::{Code, Problem};

use super::frame::{frame, framed};
use super::health;
use crate::access::Door;

/// Whether the caller waits for `100 Continue` with a body over the limit, by its own word: it need not send what is not
/// taken. Who does not wait is sending already, and hears of it when the limit is reached.
fn waits_with_too_much(request: &Request, limit: usize) -> bool {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let length = header(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    header(header::EXPECT).is_some_and(|expected| expected.eq_ignore_ascii_case("100-continue"))
        && length.is_some_and(|length| length > limit as u64)
}

/// The snippets' port: their routes and the probes, in the same frame and behind the same door as everything else.
pub struct SnippetsPort {
    door: Door,
    snippets: Snippets,
    routes: Router,
    body_limit: DefaultBodyLimit,
}

impl SnippetsPort {
    pub fn new(door: Door, snippets: Snippets) -> Arc<Self> {
        let body_limit = DefaultBodyLimit::max(door.app.config.limits.body_bytes);
        let (probes, _) = health::routes().split_for_parts();
        let routes = snippets::api::routes(snippets.clone())
            .merge(probes.with_state(door.app.clone()))
            .layer(body_limit)
            .layer(from_fn_with_state(door.clone(), frame));
        Arc::new(Self { door, snippets, routes, body_limit })
    }

    /// Answers a call. Not boxed: a connection has a place for it, and large boxes that come and go cost more than they
    /// hold.
    pub async fn answer(self: Arc<Self>, mut request: Request) -> Result<Response, Infallible> {
        if !is_about_a_document(request.method(), request.uri().path()) {
            return self.routes.clone().call(request).await;
        }
        // Nearly every call of this port, which has many: a router would take longer than reading the document.
        self.body_limit.apply(&mut request);
        let answer = |request: Request| async {
            if waits_with_too_much(&request, self.door.app.config.limits.body_bytes) {
                return Problem::new(Code::TooLarge, TOO_LARGE).into_response();
            }
            document(&self.snippets, request).await
        };
        Ok(framed(&self.door, DOCUMENTS, request, answer).await)
    }
}
