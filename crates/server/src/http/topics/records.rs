use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use topics::{Message, Position, Record};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Encoding, NewRecord, RecordItem};
use crate::app::App;
use web::Access;
use web::{Page, limit};
use web::{Problem, Result};

const USUAL_RECORDS: usize = 100;
const MOST_RECORDS: usize = 1_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(read, publish)).routes(routes!(commit))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct ReadQuery {
    /// What this group has not committed yet; without a group, the last records of the topic.
    group: Option<String>,
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    /// Goes on where an earlier answer without a group ended.
    cursor: Option<String>,
    /// Write all payloads so; else each as JSON, text or base64, whichever fits first.
    encoding: Option<Encoding>,
}

/// Records of a topic. Reading moves no group: commit does.
#[utoipa::path(get, path = "/v1/topics/{topic}/records", tag = "topics", params(ReadQuery), responses(
    (status = 200, body = Page<RecordItem>),
))]
async fn read(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Query(query): Query<ReadQuery>,
) -> Result<Json<Page<RecordItem>>> {
    access.require_service()?;
    let limit = limit(query.limit, USUAL_RECORDS, MOST_RECORDS)?;
    let (records, next_cursor) = match (&query.group, &query.cursor) {
        (Some(_), Some(_)) => {
            return Err(Problem::field(
                "cursor",
                "not_with_group",
                "a group goes on by committing, not by a cursor",
            ));
        }
        (Some(group), None) => (app.topics.records(&topic, group, limit).await?, None),
        (None, None) => {
            let ends = app.topics.info(&topic).await?.ends;
            let positions =
                ends.iter().enumerate().map(|(p, ends)| Position { partition: p as u32, next: ends.high });
            let mut positions: Vec<_> = positions.collect();
            let records = app.topics.tail(&topic, limit).await?;
            // What came in between is in the answer already.
            advance(&mut positions, &records);
            (records, Some(write_cursor(&positions)))
        }
        (None, Some(cursor)) => {
            let mut positions = parse_cursor(cursor)?;
            let records = read_on(&app, &topic, &positions, limit).await?;
            advance(&mut positions, &records);
            (records, Some(write_cursor(&positions)))
        }
    };
    let items = records.into_iter().map(|record| RecordItem::new(&topic, record, query.encoding)).collect();
    Ok(Json(Page { items, next_cursor }))
}

async fn read_on(app: &App, topic: &str, positions: &[Position], limit: usize) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for Position { partition, next } in positions {
        if records.len() < limit {
            records.extend(app.topics.read(topic, *partition, *next, limit - records.len()).await?);
        }
    }
    records.sort_by_key(|record| (record.timestamp, record.partition, record.offset));
    Ok(records)
}

fn advance(positions: &mut [Position], records: &[Record]) {
    for record in records {
        if let Some(position) = positions.iter_mut().find(|position| position.partition == record.partition) {
            position.next = position.next.max(record.offset + 1);
        }
    }
}

/// The next offset of each partition, joined by dots.
fn write_cursor(positions: &[Position]) -> String {
    positions.iter().map(|position| position.next.to_string()).collect::<Vec<_>>().join(".")
}

fn parse_cursor(text: &str) -> Result<Vec<Position>> {
    let position = |(partition, next): (usize, &str)| {
        let next = next.parse().ok().filter(|next| *next >= 0)?;
        Some(Position { partition: partition as u32, next })
    };
    let positions: Option<Vec<_>> = text.split('.').enumerate().map(position).collect();
    positions
        .ok_or_else(|| Problem::field("cursor", "bad_cursor", "this is not a cursor that this list gave"))
}

/// Records to publish, in their order.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Publish {
    pub records: Vec<NewRecord>,
}

/// Where each record landed, in the order of the request.
#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct Published {
    pub items: Vec<PlacedItem>,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlacedItem {
    pub partition: u32,
    pub offset: i64,
}

/// Publishes records; they are durable when the answer comes.
#[utoipa::path(post, path = "/v1/topics/{topic}/records", tag = "topics", request_body = Publish, responses(
    (status = 201, body = Published),
))]
async fn publish(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Json(body): Json<Publish>,
) -> Result<(StatusCode, Json<Published>)> {
    access.require_service()?;
    let messages: Vec<Message> = body.records.into_iter().map(Message::try_from).collect::<Result<_>>()?;
    let placed = app.topics.publish(&topic, messages).await?;
    let item = |placed: topics::Placed| PlacedItem { partition: placed.partition, offset: placed.offset };
    Ok((StatusCode::CREATED, Json(Published { items: placed.into_iter().map(item).collect() })))
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    group: String,
    positions: Vec<PositionItem>,
}

/// Everything before `next` is done.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct PositionItem {
    #[schema(maximum = 1_023)]
    partition: u32,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991.0)]
    next: i64,
}

/// Moves a group's positions: what lies before them is done.
#[utoipa::path(post, path = "/v1/topics/{topic}/commit", tag = "topics", request_body = Commit, responses(
    (status = 204),
))]
async fn commit(
    State(app): State<App>,
    access: Access,
    Path(topic): Path<String>,
    Json(body): Json<Commit>,
) -> Result<StatusCode> {
    access.require_service()?;
    let position = |item: PositionItem| Position { partition: item.partition, next: item.next };
    let positions: Vec<_> = body.positions.into_iter().map(position).collect();
    app.topics.commit(&topic, &body.group, &positions).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back_what_they_write() {
        let positions: Vec<_> = [5, 0, 7]
            .into_iter()
            .enumerate()
            .map(|(p, next)| Position { partition: p as u32, next })
            .collect();
        assert_eq!(parse_cursor(&write_cursor(&positions)).unwrap(), positions);
        for wrong in ["", "x", "1..2", "-1"] {
            assert!(parse_cursor(wrong).is_err(), "{wrong:?}");
        }
    }
}
