use ::snippets::{Registry, Snippets};
use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Audited, audited};
use crate::app::App;
use web::Result;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(drop_snippet))
}

/// A snippet that is configured no longer.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct DropSnippet {
    pub name: String,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct Dropped {
    pub name: String,
    /// How many documents it had.
    pub documents: usize,
}

/// Deletes all documents of a removed snippet and retires its key prefix for ever.
#[utoipa::path(post, path = "/snippets/drop", tag = "admin", request_body = DropSnippet, responses(
    (status = 200, body = Dropped),
))]
async fn drop_snippet(
    State(app): State<App>,
    Extension(serving): Extension<Option<Snippets>>,
    access: Access,
    Json(DropSnippet { name }): Json<DropSnippet>,
) -> Result<Json<Dropped>> {
    access.require_admin()?;
    audited(&app.store, &app.clock, &access, &Audited { what: "snippets.drop", whom: &name }).await?;
    let documents = match serving {
        Some(snippets) => snippets.drop_snippet(&name).await?,
        None => {
            let config = app.config.snippets_settings.config.as_deref();
            ::snippets::drop_snippet(&app.store, config, &Registry::shipped(), &name).await?
        }
    };
    Ok(Json(Dropped { name, documents }))
}
