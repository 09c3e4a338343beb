use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use files::Hash;
use kit::Timestamp;
use serde::{Deserialize, Serialize};
use store::{Range, Read as _, Shard};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{Access, Page, Problem, Result, limit};

use crate::bundle::{self, HEAD_BYTES, ORIGINAL};
use crate::picture::SIZES;
use crate::tables::PHOTO_ERRORS;
use crate::{Photos, upload};

/// Those that anybody may ask.
pub const PUBLIC_PREFIX: &str = "/photos/";

/// The name of a photo's content never stands for another one.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// What not everybody may see is kept by who asked, not on the way.
const FOR_ONE: &str = "private, max-age=31536000, immutable";
const USUAL_ERRORS: usize = 100;
const MAX_ERRORS: usize = 1_000;

pub fn routes(max_bytes: u64) -> OpenApiRouter<Photos> {
    let uploads =
        OpenApiRouter::new().routes(routes!(bring)).layer(DefaultBodyLimit::max(max_bytes as usize));
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(errors)).merge(uploads)
}

/// A photo in one of its sizes: 100, 400, 800, 1600 (the long side, never enlarged) or original, which only services
/// may see unless the configuration makes originals public.
#[utoipa::path(
    get, path = "/photos/{hash}/{size}", tag = "photos",
    responses((status = 200, content_type = "image/*", body = Vec<u8>), (status = 304), (status = 404))
)]
async fn show(
    State(photos): State<Photos>,
    access: Option<Extension<Access>>,
    Path((hash, size)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response> {
    let missing = || Problem::not_found("there is no such photo");
    let public = size != "original" || photos.settings.public_originals;
    let size_number = match size.as_str() {
        "original" if public || access.is_some_and(|access| access.require_service().is_ok()) => ORIGINAL,
        text => SIZES.into_iter().find(|size| size.to_string() == text).ok_or_else(missing)?,
    };
    // One spelling only, so that a cache keeps one copy.
    let hash: Hash =
        hash.parse().ok().filter(|found: &Hash| found.to_string() == hash).ok_or_else(missing)?;
    let first = read(&photos, &hash, 0..HEAD_BYTES).await?.ok_or_else(missing)?.bytes().await?;
    let (part, range) = bundle::find(&first, size_number).ok_or_else(missing)?;
    let etag = format!("\"{hash}-{size}\"");
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let known = known.flat_map(|list| list.split(',')).map(|tag| tag.trim().trim_start_matches("W/"));
    let mut response = if known.into_iter().any(|tag| tag == etag || tag == "*") {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let length = range.end - range.start;
        let body = read(&photos, &hash, range).await?.ok_or_else(missing)?;
        let mut response = Body::from_stream(body).into_response();
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(part.content().mime()));
    let cache = if public { FOR_EVER } else { FOR_ONE };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::ETAG, HeaderValue::from_str(&etag).map_err(|_| missing())?);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'"));
    Ok(response)
}

async fn read(photos: &Photos, hash: &Hash, range: std::ops::Range<u64>) -> Result<Option<files::Reading>> {
    match photos.files.open_range(hash, range).await {
        Ok(reading) => Ok(Some(reading)),
        // A part beyond the file's end is in no photo that was made here.
        Err(error) if matches!(error.kind(), files::Kind::NotFound | files::Kind::Invalid) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct UploadedPhoto {
    /// To be used as a photo url of an offer.
    url: String,
    hash: String,
    width: u32,
    height: u32,
    sizes: Vec<UploadedSize>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct UploadedSize {
    size: u32,
    width: u32,
    height: u32,
}

/// Takes one image: JPEG, PNG, WebP or GIF.
#[utoipa::path(
    post, path = "/v1/sellers/{seller}/photos", tag = "photos",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, body = UploadedPhoto))
)]
async fn bring(
    State(photos): State<Photos>,
    access: Access,
    Path(seller): Path<String>,
    bytes: Bytes,
) -> Result<(StatusCode, Json<UploadedPhoto>)> {
    access.require_seller(&seller)?;
    check_seller(&seller)?;
    let uploaded = upload(&photos, &seller, bytes.into()).await?;
    let size = |size: wire::model::PhotoSize| UploadedSize {
        size: size.size,
        width: size.width,
        height: size.height,
    };
    let body = UploadedPhoto {
        url: uploaded.url,
        hash: uploaded.hash,
        width: uploaded.width,
        height: uploaded.height,
        sizes: uploaded.sizes.into_iter().map(size).collect(),
    };
    Ok((StatusCode::CREATED, Json(body)))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
struct ErrorsQuery {
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct PhotoError {
    url: String,
    code: String,
    /// In the language of `Accept-Language`.
    message: String,
    #[schema(value_type = String, format = DateTime)]
    failed_at: Timestamp,
}

/// The seller's photo urls that failed when they were last tried.
#[utoipa::path(
    get, path = "/v1/sellers/{seller}/photo-errors", tag = "photos", params(ErrorsQuery),
    responses((status = 200, body = Page<PhotoError>))
)]
async fn errors(
    State(photos): State<Photos>,
    access: Access,
    Path(seller): Path<String>,
    Query(query): Query<ErrorsQuery>,
    headers: HeaderMap,
) -> Result<Json<Page<PhotoError>>> {
    access.require_seller(&seller)?;
    check_seller(&seller)?;
    let limit = limit(query.limit, USUAL_ERRORS, MAX_ERRORS)?;
    let mut range = Range::prefix((seller.as_str(),), limit + 1)?;
    if let Some(cursor) = &query.cursor {
        let after =
            unhex(cursor).ok_or_else(|| Problem::field("cursor", "bad_cursor", "it is not one of ours"))?;
        range = range.after((seller.as_str(), after))?;
    }
    let mut rows = photos.store.snapshot(Shard::of(&seller)).await?.scan(&PHOTO_ERRORS, range).await?;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| more).map(|((_, hash), _)| hex(hash));
    let language = web::language(&headers);
    let item = |(_, row): (_, crate::tables::ErrorRow)| {
        let issue = row.issue.unwrap_or_default();
        let message = model::message::render(&issue, language);
        PhotoError { url: row.url, code: issue.code, message, failed_at: Timestamp(row.failed_at) }
    };
    Ok(Json(Page { items: rows.into_iter().map(item).collect(), next_cursor }))
}

fn check_seller(seller: &str) -> Result<()> {
    model::names::check_seller(seller)
        .map_err(|error| Problem::field("seller", "bad_seller", error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}
