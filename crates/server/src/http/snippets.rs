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
struct Port {
    door: Door,
    snippets: Snippets,
    routes: Router,
    body_limit: DefaultBodyLimit,
}

/// The calls of the snippets' port.
pub fn snippets_calls(
    door: Door,
    snippets: Snippets,
) -> impl Fn(Request) -> futures::future::BoxFuture<'static, Result<Response, Infallible>> + Clone {
    let body_limit = DefaultBodyLimit::max(door.app.config.limits.body_bytes);
    let (probes, _) = health::routes().split_for_parts();
    let routes = snippets::api::http::routes(snippets.clone())
        .merge(probes.with_state(door.app.clone()))
        .layer(body_limit)
        .layer(from_fn_with_state(door.clone(), frame));
    let port = Arc::new(Port { door, snippets, routes, body_limit });
    move |request| {
        let port = port.clone();
        Box::pin(async move { port.answer(request).await })
    }
}

impl Port {
    async fn answer(&self, mut request: Request) -> Result<Response, Infallible> {
        if !is_about_a_document(request.method(), request.uri().path()) {
            return self.routes.clone().call(request).await;
        }
        // Nearly every call of this port, which has many: a router would take longer than reading the document.
        self.body_limit.apply(&mut request);
        Ok(framed(&self.door, DOCUMENTS, request, |request| document(&self.snippets, request)).await)
    }
}
