use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use snippets::Snippets;
use snippets::api::http::{DOCUMENTS, document, is_about_a_document};
use tower::Service as _;

use super::frame::{frame, framed};
use super::health;
use crate::access::Door;

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
        let routes = snippets::api::http::routes(snippets.clone())
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
        Ok(framed(&self.door, DOCUMENTS, request, |request| document(&self.snippets, request)).await)
    }
}
