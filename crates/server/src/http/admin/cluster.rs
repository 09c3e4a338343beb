use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use web::Access;
use web::Page;
use web::{Code, Problem, Result};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(show))
}

/// A process that shares the work.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemberItem {
    pub id: String,
    pub version: String,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    pub alive: bool,
    pub leaving: bool,
    /// How many shards it works on, by role.
    pub tokens: BTreeMap<String, u32>,
}

/// The processes that share the work.
#[utoipa::path(get, path = "/cluster", tag = "admin", responses((status = 200, body = Page<MemberItem>)))]
async fn show(State(app): State<App>, access: Access) -> Result<Json<Page<MemberItem>>> {
    access.require_admin()?;
    if app.cluster.is_solo() {
        return Err(Problem::new(
            Code::Unavailable,
            "who is alive can be told by a running server only, and there is none here",
        ));
    }
    let item = |member: cluster::Member| MemberItem {
        id: member.id,
        version: member.version,
        since: member.since,
        alive: member.alive,
        leaving: member.leaving,
        tokens: member.tokens,
    };
    Ok(Json(Page::whole(app.cluster.members().await?.into_iter().map(item).collect())))
}
