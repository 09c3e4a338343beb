//! What surrounds every call of every port: its id, its span, its way through the door, its time limit, its line in the log, its metrics, and the
//! final form of its problem.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use axum::body::to_bytes;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::FutureExt as _;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::listen::Peer;
use super::request_id::{HEADER, RequestId};
use crate::access::Door;
use crate::app::App;
use web::{Code, Language, Problem};

/// More of a plain error text than this is of no use to anybody.
const MAX_PLAIN_ERROR_BYTES: usize = 4_096;

/// Gigabytes over a slow line.
const UPLOAD_TIMEOUT: Duration = Duration::from_hours(12);

/// The frame of the routes of a router.
pub async fn frame(State(door): State<Door>, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    framed(&door, route, request, |request| next.run(request)).await
}

/// Answers one call, which is known to metrics and traces under its route.
pub async fn framed<A: Future<Output = Response>>(
    door: &Door,
    route: &str,
    request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let app = &door.app;
    let began = Instant::now();
    let id = RequestId::of(request.headers());
    let language = web::language(request.headers());
    let grpc = is_grpc(request.headers());
    let method = request.method().clone();
    let span = tracing::info_span!(
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        request_id = id.as_str(),
        %method,
        path = request.uri().path(),
        peer = request.extensions().get::<Peer>().map(|peer| tracing::field::display(peer.0)),
        who = tracing::field::Empty,
    );
    // A caller that traces continues here; one that does not begins a trace of its own.
    if request.headers().contains_key("traceparent") {
        let _ = span.set_parent(TraceContextPropagator::new().extract(&Headers(request.headers())));
    }

    // Pinned here, for each function that takes it by value would make the future of the call as large again.
    let answered = pin!(async {
        match door.admit(request).await {
            // gRPC bounds its messages itself.
            Ok(request) if grpc || brings_a_feed(route) => answer(request).await,
            Ok(request) => app.bodies.metered(request, answer).await,
            Err(problem) => problem.into_response(),
        }
    });
    let response = bounded(answered, time_limit(app, route), &method).instrument(span.clone()).await;
    let mut response = finish(response, &id, language, grpc).await;
    response.headers_mut().insert(HEADER, id.into());

    let status = response.status().as_u16();
    let seconds = began.elapsed().as_secs_f64();
    app.calls.note(route, &method, status, seconds);
    span.in_scope(|| match status {
        500.. => tracing::warn!(status, seconds, "answered"),
        400.. => tracing::info!(status, seconds, "answered"),
        _ => tracing::debug!(status, seconds, "answered"),
    });
    response
}

/// A feed takes as long as its sender needs, who has a limit of silence of their own.
fn time_limit(app: &App, route: &str) -> Duration {
    if brings_a_feed(route) { UPLOAD_TIMEOUT } else { app.config.limits.request_timeout }
}

fn brings_a_feed(route: &str) -> bool {
    route.ends_with("/uploads") || route == "/v1/parsed-feeds"
}

/// Ends a call that takes too long or panics.
async fn bounded(
    answer: Pin<&mut impl Future<Output = Response>>,
    limit: Duration,
    method: &Method,
) -> Response {
    match tokio::time::timeout(limit, AssertUnwindSafe(answer).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!("a handler panicked");
            Problem::new(Code::Internal, "the server made a mistake in this call").into_response()
        }
        // What was handed to the store completes without us.
        Err(_) if !method.is_safe() => {
            Problem::new(Code::OutcomeUnknown, format!("there was no answer within {limit:?}"))
                .into_response()
        }
        Err(_) => {
            Problem::new(Code::Timeout, format!("there was no answer within {limit:?}")).into_response()
        }
    }
}

/// Gives a problem its last form. Plain errors of the framework (a body that cannot be read, a path that does not fit)
/// become problems too.
async fn finish(mut response: Response, id: &RequestId, language: Language, grpc: bool) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        return if grpc {
            tonic::Status::from(problem).into_http()
        } else {
            with_headers(&response, problem, id, language)
        };
    }
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let plain = content_type.is_none_or(|text| text.starts_with("text/plain"));
    if grpc || !plain || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_PLAIN_ERROR_BYTES).await.unwrap_or_default();
    let problem = Problem::new(Code::of_status(status), String::from_utf8_lossy(&text));
    with_headers(&Response::from_parts(parts, axum::body::Body::empty()), problem, id, language)
}

/// The problem's answer, with what the first answer's headers said beyond the body (such as `Allow`).
fn with_headers(first: &Response, problem: Problem, id: &RequestId, language: Language) -> Response {
    let mut response = problem.render(id.as_str(), language);
    for (name, value) in first.headers() {
        if *name != header::CONTENT_LENGTH && *name != header::CONTENT_TYPE {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
    response
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}
