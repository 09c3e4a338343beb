use std::fmt::Display;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::process_metrics;
use web::Access;
use web::{Code, FieldError, Problem, ProblemBody, Result};

/// A part that does not answer by then is not ready.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    /// What does not keep the process from its work, but somebody should see to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<FieldError>,
}

const WELL: Health = Health { status: "ok", version: Some(env!("CARGO_PKG_VERSION")), warnings: Vec::new() };

/// The process runs.
#[utoipa::path(get, path = "/healthz", tag = "running", responses((status = 200, body = Health)))]
async fn healthz() -> Json<Health> {
    Json(WELL)
}

/// The process can take work. If not, `errors` says which part is in the way; `warnings` are for people. Without an access
/// token only the status is told.
#[utoipa::path(get, path = "/readyz", tag = "running", responses(
    (status = 200, body = Health),
    (status = 503, body = ProblemBody, content_type = "application/problem+json"),
))]
async fn readyz(State(app): State<App>, access: Option<Extension<Access>>) -> Result<Json<Health>> {
    let mut errors = Vec::new();
    if app.ending.is_called() {
        errors.push(not_ready("process", "ending", "the process is ending".to_owned()));
    }
    errors.extend(check("store", app.store.engine().health()).await);
    // Embedded topics are rows of the store, which was just asked.
    if !app.config.topics.starts_with("embedded:") {
        errors.extend(check("topics", app.topics.list()).await);
    }
    errors.extend(check("files", app.files.health()).await);
    if access.is_none() {
        let refused = || Problem::new(Code::Unavailable, "not ready");
        return if errors.is_empty() { Ok(Json(Health { version: None, ..WELL })) } else { Err(refused()) };
    }
    if errors.is_empty() {
        return Ok(Json(Health { warnings: warnings(&app).await, ..WELL }));
    }
    let reasons: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.field, error.message)).collect();
    Err(Problem { errors, ..Problem::new(Code::Unavailable, format!("not ready: {}", reasons.join("; "))) })
}

/// Processes read the configuration of snippets each from a file of its own.
async fn warnings(app: &App) -> Vec<FieldError> {
    let Some(snippets) = app.snippets.get() else { return Vec::new() };
    match tokio::time::timeout(PATIENCE, snippets.differing()).await {
        Ok(Ok(others)) if !others.is_empty() => {
            let message = format!(
                "the configuration of this process ({}) is not that of {}: their files differ, or not all have read \
                 them anew",
                snippets.config().hash(),
                others.join(", ")
            );
            vec![not_ready("snippets", "config_differs", message)]
        }
        // What cannot be asked now is nothing to warn of: the store was just asked how it is.
        _ => Vec::new(),
    }
}

async fn check<T, E: Display>(part: &str, asked: impl Future<Output = Result<T, E>>) -> Option<FieldError> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(not_ready(part, "unavailable", error.to_string())),
        Err(_) => Some(not_ready(part, "timeout", format!("no answer within {PATIENCE:?}"))),
    }
}

fn not_ready(part: &str, code: &str, message: String) -> FieldError {
    FieldError { field: part.to_owned(), code: code.to_owned(), message }
}

/// Metrics in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "running", responses(
    (status = 200, body = String, content_type = "text/plain"),
))]
async fn metrics(State(app): State<App>, access: Access) -> Result<impl IntoResponse> {
    access.require_service()?;
    process_metrics::sample(&app.config.data);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.render()))
}
