//! What a person can say to a feed and to a load. Each is a verb of the feeds, and leads back to a page.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use feeds::feed::Pause;
use feeds::upload::Upload;
use feeds::{decide, feed, follow_up, upload as uploads};
use serde::Deserialize;
use serde_json::json;
use web::Problem;
use wire::feeds::feed_decision::Word;

use super::{Answer, feed_address, load_address, own_feed_key, own_load_key};
use crate::Console;
use crate::frame::see_other;
use crate::visit::Visit;

type FeedPath = Path<(String, String)>;
type LoadPath = Path<(String, String, String)>;

pub(crate) async fn fetch(State(console): State<Console>, visit: Visit, Path(path): FeedPath) -> Answer {
    let key = own_feed_key(&visit, &path.0, &path.1)?;
    feed::fetch_now(&console.feeds, &key).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&feed_address(&key)))
}

pub(crate) async fn pause(state: State<Console>, visit: Visit, path: FeedPath) -> Answer {
    set_paused(state, visit, path, Pause::Paused).await
}

pub(crate) async fn resume(state: State<Console>, visit: Visit, path: FeedPath) -> Answer {
    set_paused(state, visit, path, Pause::Running).await
}

async fn set_paused(State(console): State<Console>, visit: Visit, Path(path): FeedPath, to: Pause) -> Answer {
    let key = own_feed_key(&visit, &path.0, &path.1)?;
    feed::set_paused(&console.feeds, &key, to).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&feed_address(&key)))
}

pub(crate) async fn confirm(state: State<Console>, visit: Visit, path: LoadPath) -> Answer {
    say(state, visit, path, Word::Confirm).await
}

pub(crate) async fn reject(state: State<Console>, visit: Visit, path: LoadPath) -> Answer {
    say(state, visit, path, Word::Reject).await
}

async fn say(State(console): State<Console>, visit: Visit, Path(path): LoadPath, word: Word) -> Answer {
    let (key, task_id) = own_load_key(&visit, &path)?;
    let said = decide::decide(&console.feeds, &key, task_id, word, visit.access.who()).await;
    said.map_err(|error| visit.refused(error))?;
    Ok(see_other(&load_address(&key, &task_id.to_string())))
}

pub(crate) async fn rerun(State(console): State<Console>, visit: Visit, Path(path): LoadPath) -> Answer {
    let (key, task_id) = own_load_key(&visit, &path)?;
    let made = follow_up::rerun(&console.feeds, &key, task_id).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&load_address(&key, &made.to_string())))
}

pub(crate) async fn cancel(State(console): State<Console>, visit: Visit, Path(path): LoadPath) -> Answer {
    let (key, task_id) = own_load_key(&visit, &path)?;
    decide::cancel(&console.feeds, &key, task_id).await.map_err(|error| visit.refused(error))?;
    Ok(see_other(&load_address(&key, &task_id.to_string())))
}

#[derive(Deserialize)]
pub(crate) struct How {
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    name: String,
}

/// A file sent by the page's script, which is told where to go on.
pub(crate) async fn upload(
    State(console): State<Console>,
    visit: Visit,
    Path(path): FeedPath,
    Query(how): Query<How>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let told = |problem: Problem| {
        let body = Json(json!({ "message": problem.detail }));
        (problem.code.status(), body).into_response()
    };
    visit.access.require_seller(&path.0).map_err(told)?;
    let key = feeds::FeedKey::new(&path.0, &path.1).map_err(|error| told(error.into()))?;
    if key.is_parsed() {
        visit.access.require_service().map_err(told)?;
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let how = Upload {
        name: how.name.chars().filter(|letter| !letter.is_control()).take(200).collect(),
        dry_run: how.dry_run,
        expected_bytes: length.and_then(|length| length.parse().ok()),
        parsed: key.is_parsed(),
    };
    let made = uploads::upload(&console.feeds, &key, body.into_data_stream(), how).await;
    let task_id = made.map_err(|error| told(error.into()))?.to_string();
    let body = Json(json!({ "task_id": task_id, "address": load_address(&key, &task_id) }));
    Ok((StatusCode::ACCEPTED, body).into_response())
}
