use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{self, Access, AuditEntry, NewToken, TokenInfo};
use crate::app::App;
use web::Result;
use web::{Page, limit};

const USUAL_ACTS: usize = 100;
const MOST_ACTS: usize = 1_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke)).routes(routes!(audit))
}

/// A new token with its text, which is shown only here.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct CreatedToken {
    #[serde(flatten)]
    pub info: TokenInfo,
    pub token: String,
}

/// All access tokens, without their secrets.
#[utoipa::path(get, path = "/tokens", tag = "admin", responses((status = 200, body = Page<TokenInfo>)))]
async fn list(State(app): State<App>, caller: Access) -> Result<Json<Page<TokenInfo>>> {
    caller.require_admin()?;
    Ok(Json(Page::whole(access::list(&app.store).await?)))
}

/// Makes an access token. From the first one on, every call needs one.
#[utoipa::path(post, path = "/tokens", tag = "admin", request_body = NewToken, responses(
    (status = 201, body = CreatedToken),
))]
async fn create(
    State(app): State<App>,
    caller: Access,
    Json(new): Json<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>)> {
    caller.require_admin()?;
    let (info, token) = access::create(&app.store, &app.clock, &caller, new).await?;
    app.verifier.forget(&info.id);
    Ok((StatusCode::CREATED, Json(CreatedToken { info, token })))
}

/// Revokes an access token; it is refused everywhere within 5 seconds.
#[utoipa::path(delete, path = "/tokens/{id}", tag = "admin", responses((status = 200, body = TokenInfo)))]
async fn revoke(State(app): State<App>, caller: Access, Path(id): Path<String>) -> Result<Json<TokenInfo>> {
    caller.require_admin()?;
    let info = access::revoke(&app.store, &app.clock, &caller, &id).await?;
    app.verifier.forget(&id);
    Ok(Json(info))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
}

/// The newest acts of admins, the last first.
#[utoipa::path(get, path = "/audit", tag = "admin", params(AuditQuery), responses(
    (status = 200, body = Page<AuditEntry>),
))]
async fn audit(
    State(app): State<App>,
    caller: Access,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>> {
    caller.require_admin()?;
    let limit = limit(query.limit, USUAL_ACTS, MOST_ACTS)?;
    Ok(Json(Page::whole(access::newest(&app.store, limit).await?)))
}
