use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use web::{Access, Page, Problem, Result};
use wire::feeds::feed_decision::Word;

use super::docs::{Reading, Writing};
use super::json::{LoadItem, NewLoad};
use super::{feed_key, own_feed_key};
use crate::{FeedKey, Feeds, decide, follow_up, history};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
    cursor: Option<String>,
}

fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| Problem::not_found(format!("there is no load {text:?}")))
}

/// The loads of a feed, newest first.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks", tag = "feeds", params(Paging),
    responses((status = 200, body = Page<LoadItem>), Reading))]
pub(super) async fn list(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace)): Path<(String, String)>,
    Query(paging): Query<Paging>,
) -> Result<Json<Page<LoadItem>>> {
    let key = feed_key(&access, &seller, &namespace)?;
    let limit = web::limit(paging.limit, 20, 100)?;
    let before = paging.cursor.map(|cursor| {
        cursor.parse().map_err(|_| Problem::field("cursor", "bad_cursor", "this is no cursor of this list"))
    });
    let loads = history::loads(&feeds, &key, before.transpose()?, limit + 1).await?;
    let more = loads.len() > limit;
    let language = web::language(&headers);
    let items: Vec<_> = loads.iter().take(limit).map(|load| LoadItem::of(load, language)).collect();
    let next_cursor = items.last().filter(|_| more).map(|last| last.task_id.clone());
    Ok(Json(Page { items, next_cursor }))
}

/// A load: its status, progress, statistics, and what ended it.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}", tag = "feeds",
    responses((status = 200, body = LoadItem), Reading))]
pub(super) async fn show(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace, task_id)): Path<(String, String, String)>,
) -> Result<Json<LoadItem>> {
    let key = feed_key(&access, &seller, &namespace)?;
    seen(&feeds, &key, number(&task_id)?, &headers).await
}

async fn seen(feeds: &Feeds, key: &FeedKey, task_id: i64, headers: &HeaderMap) -> Result<Json<LoadItem>> {
    let load = history::load(feeds, key, task_id).await?;
    Ok(Json(LoadItem::of(&load, web::language(headers))))
}

/// Lets a held load take the missing offers away.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/confirm", tag = "feeds",
    responses((status = 202, body = LoadItem), Writing))]
pub(super) async fn confirm(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace, task_id)): Path<(String, String, String)>,
) -> Result<(StatusCode, Json<LoadItem>)> {
    let (key, task_id) = (own_feed_key(&access, &seller, &namespace)?, number(&task_id)?);
    decide::decide(&feeds, &key, task_id, Word::Confirm, access.who()).await?;
    Ok((StatusCode::ACCEPTED, seen(&feeds, &key, task_id, &headers).await?))
}

/// Ends a held load; nothing is taken away, created and updated offers stay.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/reject", tag = "feeds",
    responses((status = 202, body = LoadItem), Writing))]
pub(super) async fn reject(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace, task_id)): Path<(String, String, String)>,
) -> Result<(StatusCode, Json<LoadItem>)> {
    let (key, task_id) = (own_feed_key(&access, &seller, &namespace)?, number(&task_id)?);
    decide::decide(&feeds, &key, task_id, Word::Reject, access.who()).await?;
    Ok((StatusCode::ACCEPTED, seen(&feeds, &key, task_id, &headers).await?))
}

/// Loads the file of an earlier load again, with today's settings and catalog.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/rerun", tag = "feeds",
    responses((status = 202, body = NewLoad), (status = 410, description = "The file is no longer kept"), Writing))]
pub(super) async fn rerun(
    State(feeds): State<Feeds>,
    access: Access,
    Path((seller, namespace, task_id)): Path<(String, String, String)>,
) -> Result<(StatusCode, Json<NewLoad>)> {
    let (key, task_id) = (own_feed_key(&access, &seller, &namespace)?, number(&task_id)?);
    let task_id = follow_up::rerun(&feeds, &key, task_id).await?;
    Ok((StatusCode::ACCEPTED, Json(NewLoad { task_id: task_id.to_string() })))
}

/// Stops a load whose file is not wholly with the offers yet.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/cancel", tag = "feeds",
    responses((status = 200, body = LoadItem), Writing))]
pub(super) async fn cancel(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path((seller, namespace, task_id)): Path<(String, String, String)>,
) -> Result<Json<LoadItem>> {
    let (key, task_id) = (own_feed_key(&access, &seller, &namespace)?, number(&task_id)?);
    decide::cancel(&feeds, &key, task_id).await?;
    seen(&feeds, &key, task_id, &headers).await
}
