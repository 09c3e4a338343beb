use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use fetch::{Answer, Conditional};
use model::names;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use web::{Access, Code, Problem, Result};

use super::docs::Writing;
use super::json::NewLoad;
use super::own_feed_key;
use crate::upload::{self, Upload};
use crate::{FeedKey, Feeds};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct How {
    /// Tells what would happen and changes nothing.
    #[serde(default)]
    dry_run: bool,
    /// The file's name, for the history.
    #[serde(default)]
    name: String,
}

/// Takes a file and makes a load of it. The format is recognised from the content; gzip and zip are unpacked.
#[utoipa::path(post, path = "/v1/sellers/{seller}/feeds/{namespace}/uploads", tag = "feeds", params(How),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 202, body = NewLoad), (status = 413, description = "The file is too large"), Writing))]
pub(super) async fn upload(
    State(feeds): State<Feeds>,
    access: Access,
    Path((seller, namespace)): Path<(String, String)>,
    Query(how): Query<How>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<NewLoad>)> {
    let key = own_feed_key(&access, &seller, &namespace)?;
    let expected_bytes = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok());
    let name = how.name.chars().filter(|letter| !letter.is_control()).take(200).collect();
    let how = Upload { name, dry_run: how.dry_run, expected_bytes, parsed: key.is_parsed() };
    let task_id = upload::upload(&feeds, &key, body.into_data_stream(), how).await?;
    Ok((StatusCode::ACCEPTED, Json(NewLoad { task_id: task_id.to_string() })))
}

/// A feed that a service has collected elsewhere.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ParsedFeed {
    seller_id: String,
    /// Where the file is; fetched within the same guards as feeds.
    file_url: String,
    /// The namespace becomes `parsed:<source>`.
    source: String,
}

/// Takes a feed that a service has collected from another site. The file is downloaded before the answer, within the
/// limits of feeds that are fetched. Its errors are for the service, not for the seller.
#[utoipa::path(post, path = "/v1/parsed-feeds", tag = "feeds", request_body = ParsedFeed,
    responses((status = 202, body = NewLoad), (status = 403, description = "The token is not a service's"),
        (status = 413, description = "The file is too large"), Writing))]
pub(super) async fn parsed(
    State(feeds): State<Feeds>,
    access: Access,
    Json(wanted): Json<ParsedFeed>,
) -> Result<(StatusCode, Json<NewLoad>)> {
    access.require_service()?;
    let key = FeedKey::new(&wanted.seller_id, &format!("{}{}", names::PARSED, wanted.source))?;
    // It goes back when the call ends, however it ends.
    let Ok(_place) = feeds.handed_over.clone().try_acquire_owned() else {
        let detail = "as many handed-over feeds as this process takes are being downloaded; try again later";
        return Err(Problem::named(Code::TooManyRequests, "quota_downloads", detail));
    };
    let refused = |error: &fetch::Error| Problem::field("file_url", "not_fetched", error.to_string());
    let answer = feeds.fetcher.get(&wanted.file_url, &Conditional::default()).await;
    let mut download = match answer.map_err(|error| refused(&error))? {
        Answer::Body(download) => download,
        Answer::NotModified => return Err(Problem::field("file_url", "not_fetched", "there is no file")),
    };
    let how = Upload {
        name: fetch::shown(&wanted.file_url),
        expected_bytes: download.content_length,
        parsed: true,
        dry_run: false,
    };
    let made = upload::upload(&feeds, &key, &mut *download, how).await;
    if let Some(error) = download.error() {
        return Err(refused(error));
    }
    Ok((StatusCode::ACCEPTED, Json(NewLoad { task_id: made?.to_string() })))
}
