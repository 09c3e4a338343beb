//! Topics over HTTP, for those without Kafka: list, read, publish, commit, rewind, dead letters.

mod dead_letters;
mod groups;
mod records;
mod wire;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use topics::TopicInfo;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use web::Access;
use web::Page;
use web::Result;

pub use groups::{GroupItem, Rewind, RewindTo};
pub use records::{Publish, Published};
pub use wire::{Encoding, NewRecord, RecordItem};

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, ensure))
        .merge(records::routes())
        .merge(groups::routes())
        .merge(dead_letters::routes())
}

/// A topic and how much it holds.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct TopicItem {
    pub topic: String,
    /// Differs between a topic and one made later under the same name.
    pub incarnation: String,
    pub partitions: Vec<PartitionItem>,
}

/// Records from `low` up to, but not with, `high` are there.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct PartitionItem {
    pub partition: u32,
    pub low: i64,
    pub high: i64,
}

impl From<TopicInfo> for TopicItem {
    fn from(info: TopicInfo) -> Self {
        let partition = |(partition, ends): (usize, topics::Ends)| PartitionItem {
            partition: partition as u32,
            low: ends.low,
            high: ends.high,
        };
        let partitions = info.ends.into_iter().enumerate().map(partition).collect();
        Self { topic: info.topic, incarnation: info.incarnation, partitions }
    }
}

/// All topics.
#[utoipa::path(get, path = "/v1/topics", tag = "topics", responses((status = 200, body = Page<TopicItem>)))]
async fn list(State(app): State<App>, access: Access) -> Result<Json<Page<TopicItem>>> {
    access.require_service()?;
    Ok(Json(Page::whole(app.topics.list().await?.into_iter().map(TopicItem::from).collect())))
}

/// One topic.
#[utoipa::path(get, path = "/v1/topics/{topic}", tag = "topics", responses((status = 200, body = TopicItem)))]
async fn show(State(app): State<App>, access: Access, Path(topic): Path<String>) -> Result<Json<TopicItem>> {
    access.require_service()?;
    Ok(Json(app.topics.info(&topic).await?.into()))
}

/// Makes a topic, with the configured partitions, if it is not there yet.
#[utoipa::path(put, path = "/v1/topics/{topic}", tag = "topics", responses((status = 200, body = TopicItem)))]
async fn ensure(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
) -> Result<Json<TopicItem>> {
    access.require_service()?;
    app.topics.ensure(&topic, app.config.topic.partitions).await?;
    Ok(Json(app.topics.info(&topic).await?.into()))
}
