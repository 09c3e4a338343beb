use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use topics::To;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, Audited, audited};
use crate::app::App;
use web::Page;
use web::Result;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(rewind))
}

/// A group of readers and how far behind it is.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct GroupItem {
    pub group: String,
    /// Records that it has not committed.
    pub lag: i64,
    pub partitions: Vec<GroupPartition>,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct GroupPartition {
    pub partition: u32,
    /// Null: the group never committed here.
    pub next: Option<i64>,
    pub lag: i64,
}

/// The groups that read a topic.
#[utoipa::path(get, path = "/v1/topics/{topic}/groups", tag = "topics", responses(
    (status = 200, body = Page<GroupItem>),
))]
async fn list(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
) -> Result<Json<Page<GroupItem>>> {
    access.require_service()?;
    app.topics.describe(&topic).await?;
    let mut items = Vec::new();
    for group in app.topics.groups(&topic).await? {
        let lags = app.topics.lag(&topic, &group).await?;
        let partition =
            |lag: &topics::Lag| GroupPartition { partition: lag.partition, next: lag.position, lag: lag.lag };
        let partitions = lags.iter().map(partition).collect();
        items.push(GroupItem { group, lag: lags.iter().map(|lag| lag.lag).sum(), partitions });
    }
    Ok(Json(Page::whole(items)))
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    pub group: String,
    pub to: RewindTo,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewindTo {
    /// The first record that is kept.
    Start,
    /// Behind the last record.
    End,
}

/// Moves a group to one end of the topic, and lets it apply again what lies behind its new position.
#[utoipa::path(post, path = "/v1/topics/{topic}/rewind", tag = "topics", request_body = Rewind, responses(
    (status = 200, body = Rewind),
))]
async fn rewind(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Json(body): Json<Rewind>,
) -> Result<Json<Rewind>> {
    access.require_admin()?;
    let whom = format!("{topic} {}", body.group);
    audited(&app.store, &app.clock, &access, &Audited { what: "topic.rewind", whom: &whom }).await?;
    let to = match body.to {
        RewindTo::Start => To::Start,
        RewindTo::End => To::End,
    };
    app.topics.rewind(&topic, &body.group, to).await?;
    Ok(Json(body))
}
