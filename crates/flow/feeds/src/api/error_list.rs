//! The list of a load's errors: in pages, and whole as a table.

use std::fs::File;
use std::io::{BufWriter, Seek as _, Write as _};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use futures::stream;
use model::Language;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use utoipa::IntoParams;
use web::{Access, Code, Page, Problem, Result};

use super::docs::Reading;
use super::feed_key;
use super::json::ErrorItem;
use crate::check::Finding;
use crate::errors::{self, Cursor, Filter, Found, Searched};
use crate::report::Row;
use crate::report::csv::Csv;
use crate::report::xlsx::Xlsx;
use crate::{FeedKey, Feeds, history};

/// Errors that one question brings while a table is written.
const PAGE: usize = 1_000;
/// Of one table; the list in pages has all of them.
const MAX_TABLE_ROWS: usize = 250_000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Wanted {
    /// error or warning.
    level: Option<String>,
    /// validation, category, attribute, geo, banned, duplicate or photo.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The beginning of the external id. A page of a search may be short, or empty, and still have a next_cursor.
    #[serde(default)]
    search: String,
    /// Words of the title, in any order and case. Likewise.
    #[serde(default)]
    title: String,
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// The load's number, if the caller may see its errors. Those of a collected feed are for the service that sent it.
async fn load_of(feeds: &Feeds, access: &Access, path: &(String, String, String)) -> Result<(FeedKey, i64)> {
    let (seller, namespace, task_id) = path;
    let key = feed_key(access, seller, namespace)?;
    if key.is_parsed() && access.require_service().is_err() {
        return Err(Problem::not_found("the service that collected this feed shows its errors"));
    }
    let task_id = task_id.parse().map_err(|_| Problem::not_found(format!("there is no load {task_id:?}")))?;
    history::load(feeds, &key, task_id).await?;
    Ok((key, task_id))
}

/// What is wrong with the offers of a load, by external id.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/errors", tag = "feeds",
    params(Wanted), responses((status = 200, body = Page<ErrorItem>), Reading))]
pub(super) async fn list(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path(path): Path<(String, String, String)>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<ErrorItem>>> {
    let (key, task_id) = load_of(&feeds, &access, &path).await?;
    let limit = web::limit(wanted.limit, 100, 1_000)?;
    let after = wanted.cursor.as_deref().map(errors::read_cursor).transpose()?;
    let filter = Filter {
        id_begins: wanted.search,
        title_has: wanted.title,
        ..Filter::parse(wanted.level.as_deref(), wanted.kind.as_deref())?
    };
    let Searched { found, next } =
        errors::page(&feeds, &key, task_id, &filter, after.as_ref(), limit).await?;
    let next_cursor = next.as_ref().map(errors::write_cursor);
    let language = web::language(&headers);
    let items = found.into_iter().map(|found| ErrorItem::of(found, language)).collect();
    Ok(Json(Page { items, next_cursor }))
}

/// All errors of a load as an XLSX table.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/errors.xlsx", tag = "feeds",
    responses((status = 200, body = Vec<u8>,
        content_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"), Reading))]
pub(super) async fn xlsx(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path(path): Path<(String, String, String)>,
) -> Result<Response> {
    let (key, task_id) = load_of(&feeds, &access, &path).await?;
    xlsx_table(&feeds, &key, task_id, web::language(&headers)).await
}

/// The whole list as an XLSX file to download.
pub async fn xlsx_table(feeds: &Feeds, key: &FeedKey, task_id: i64, language: Language) -> Result<Response> {
    let begin = move || Xlsx::begin(language).map_err(|error| broken(&error));
    let file = table(feeds, key, task_id, language, begin).await?;
    let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
    download(file, kind, &format!("errors-{task_id}.xlsx"))
}

/// All errors of a load as a CSV table.
#[utoipa::path(get, path = "/v1/sellers/{seller}/feeds/{namespace}/tasks/{task_id}/errors.csv", tag = "feeds",
    responses((status = 200, body = String, content_type = "text/csv"), Reading))]
pub(super) async fn csv(
    State(feeds): State<Feeds>,
    access: Access,
    headers: HeaderMap,
    Path(path): Path<(String, String, String)>,
) -> Result<Response> {
    let (key, task_id) = load_of(&feeds, &access, &path).await?;
    csv_table(&feeds, &key, task_id, web::language(&headers)).await
}

/// The whole list as a CSV file to download.
pub async fn csv_table(feeds: &Feeds, key: &FeedKey, task_id: i64, language: Language) -> Result<Response> {
    let begin = move || {
        let file = tempfile::tempfile().map_err(|error| broken(&error))?;
        Csv::begin(BufWriter::new(file), language).map_err(|error| broken(&error))
    };
    let file = table(feeds, key, task_id, language, begin).await?;
    download(file, "text/csv; charset=utf-8", &format!("errors-{task_id}.csv"))
}

/// A table that is being written.
trait Table: Send + Sized + 'static {
    fn add(&mut self, row: &Row) -> Result<()>;
    fn end(self) -> Result<File>;
}

impl Table for Xlsx {
    fn add(&mut self, row: &Row) -> Result<()> {
        self.add(row).map_err(|error| broken(&error))
    }

    fn end(self) -> Result<File> {
        let mut file = tempfile::tempfile().map_err(|error| broken(&error))?;
        self.end(&mut file).map_err(|error| broken(&error))?;
        Ok(file)
    }
}

impl Table for Csv<BufWriter<File>> {
    fn add(&mut self, row: &Row) -> Result<()> {
        self.add(row).map_err(|error| broken(&error))
    }

    fn end(self) -> Result<File> {
        let mut out = self.end().map_err(|error| broken(&error))?;
        out.flush().map_err(|error| broken(&error))?;
        out.into_inner().map_err(|error| broken(&error))
    }
}

/// Writes a table of the first [`MAX_TABLE_ROWS`] errors, page by page on threads that may take their time. Between two
/// pages nothing is held but the permit, which goes when nobody waits any more.
async fn table<T: Table>(
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    language: Language,
    begin: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<File> {
    let _permit = feeds.renderings.acquire().await.map_err(|error| broken(&error))?;
    let mut table = apart(begin).await?;
    let (mut after, mut written) = (None, 0);
    while written < MAX_TABLE_ROWS
        && let Some(rows) = page(feeds, key, task_id, language, &mut after).await?
    {
        written += rows.len();
        table = apart(move || {
            for row in rows {
                table.add(&row)?;
            }
            Ok(table)
        })
        .await?;
    }
    apart(move || table.end()).await
}

/// Off the threads that serve calls.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| broken(&error))?
}

/// The next rows of a table; none: that was all.
async fn page(
    feeds: &Feeds,
    key: &FeedKey,
    task_id: i64,
    language: Language,
    after: &mut Option<Cursor>,
) -> Result<Option<Vec<Row>>> {
    let found = errors::list(feeds, key, task_id, &Filter::default(), after.as_ref(), PAGE).await?;
    let Some(last) = found.last() else { return Ok(None) };
    *after = Some(last.at.clone());
    let row = |found: Found| {
        let finding = Finding {
            line: found.error.line.max(0) as u64,
            external_id: found.external_id,
            title: found.error.title,
            issue: found.error.issue.unwrap_or_default(),
        };
        Row::of(&finding, language)
    };
    Ok(Some(found.into_iter().map(row).collect()))
}

fn broken(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!("a table of errors cannot be written: {error}");
    Problem::new(Code::Unavailable, format!("the table cannot be written: {error}"))
}

/// The file as an answer, from its beginning, a piece at a time.
fn download(mut file: File, kind: &'static str, name: &str) -> Result<Response> {
    file.rewind().map_err(|error| broken(&error))?;
    let chunks = stream::try_unfold(tokio::fs::File::from_std(file), |mut file| async move {
        let mut chunk = BytesMut::with_capacity(64 << 10);
        let read = file.read_buf(&mut chunk).await?;
        Ok::<_, std::io::Error>((read > 0).then(|| (Bytes::from(chunk), file)))
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}
