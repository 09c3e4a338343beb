//! `PUT`, `GET` and `DELETE /{name}/{key}`, and `/-/…`, which no name can be.

use axum::body::Body;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use bytes::Bytes;
use serde::Serialize;
use store::Shard;
use web::{Access, Code, Problem, Result};

use super::headers::{condition, content_language, format, refuse_encoding, wants_bytes};
use super::pieces;
use crate::address::{self, Address};
use crate::content::Content;
use crate::convertors::Document;
use crate::delete::Languages;
use crate::get::read;
use crate::prepare::{Change, DocumentRef, works};
use crate::put::{Origin, write};
use crate::representation::{json, tag};
use crate::snippets::Snippets;
use crate::{Error, delete, metrics};

/// What is said of content over the limit.
pub const TOO_LARGE: &str = "the content is larger than the setting limits.body_bytes allows";

/// The route of documents.
pub const DOCUMENTS: &str = "/{*address}";

/// Whether a call is one that [`document`] answers, as the route of documents would: its path has a name and a key.
pub fn is_about_a_document(method: &Method, path: &str) -> bool {
    let has_key = path.strip_prefix('/').is_some_and(|rest| rest.contains('/'));
    has_key && !path.starts_with("/-/") && [Method::GET, Method::PUT, Method::DELETE].contains(method)
}

/// Answers a call about a document without a router.
pub async fn document(snippets: &Snippets, request: Request) -> Response {
    try_document(snippets, request).await.unwrap_or_else(Problem::into_response)
}

async fn try_document(snippets: &Snippets, request: Request) -> Result<Response> {
    let (mut parts, body) = request.into_parts();
    let access = Access::from_request_parts(&mut parts, &()).await?;
    let Parts { method, uri, headers, extensions, .. } = parts;
    let snippets = State(snippets.clone());
    match method {
        Method::GET => get_one(snippets, access, uri, headers).await,
        Method::DELETE => delete_one(snippets, access, uri, headers).await,
        _ => {
            let mut request = Request::new(body);
            // The limit of a body is among them.
            *request.extensions_mut() = extensions;
            match Bytes::from_request(request, &()).await {
                Ok(body) => put_one(snippets, access, uri, headers, body).await,
                Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                    Err(Problem::new(Code::TooLarge, TOO_LARGE))
                }
                Err(rejection) => Ok(rejection.into_response()),
            }
        }
    }
}

/// The routes of the snippets' port.
pub fn routes(snippets: Snippets) -> Router {
    Router::new()
        .merge(super::lookup::routes())
        .route("/-/reload", post(reload))
        .merge(super::letters::routes())
        .merge(super::languages::routes())
        .merge(super::constant::routes())
        .route("/-/{*rest}", any(nowhere))
        .route(DOCUMENTS, get(get_one).put(put_one).delete(delete_one))
        .fallback(nowhere)
        .method_not_allowed_fallback(async || {
            Problem::new(Code::MethodNotAllowed, "the header Allow says which methods this address takes")
        })
        .with_state(snippets)
}

async fn nowhere() -> Problem {
    Problem::not_found("there is nothing at this address; snippets are at /NAME/KEY")
}

/// What a write did.
#[derive(Serialize)]
struct Done<'a> {
    key: &'a str,
    /// The absolute names of the snippets that the call was about.
    snippets: Vec<&'a str>,
    /// Those of them that a convertor deleted, though the call was a PUT.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deleted: Vec<&'a str>,
}

fn done(address: &Address, deleted: Vec<&str>) -> Response {
    let snippets = address.target.snippets.iter().map(|snippet| snippet.name.as_str()).collect();
    Json(Done { key: &address.key, snippets, deleted }).into_response()
}

async fn put_one(
    State(snippets): State<Snippets>,
    access: Access,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    access.require_service()?;
    let config = snippets.config();
    let address = address_of_write(&uri, &config)?;
    refuse_encoding(&headers)?;
    let format = format(&headers, &address)?;
    let language = content_language(&headers)?;
    if language == Some("*") {
        let detail = "only a DELETE is about all languages: a PUT has one, or none";
        return Err(Problem::new(Code::BadRequest, detail));
    }
    let condition = condition(&headers)?;
    let content = Content::new(body, format);
    let changes = snippets.put_to(&address.target, &address.key, &content, language, &condition).await?;
    let is_deleted = |change: &&Change| matches!(change.document, Document::Delete);
    let mut deleted: Vec<_> =
        changes.iter().filter(is_deleted).map(|change| change.snippet.name.as_str()).collect();
    deleted.dedup();
    let mut response = done(&address, deleted);
    if let Some(tag) = tag_of(&changes).and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// What a GET of the same address has for a tag now; snippets that make languages of their own have several.
fn tag_of(changes: &[Change]) -> Option<String> {
    if changes.iter().any(|change| !change.work.languages.is_empty()) {
        return None;
    }
    let put = changes.iter().filter_map(|change| match &change.document {
        Document::Put(bytes) => Some((change.snippet.name.as_str(), change.work.output, &bytes[..])),
        Document::Delete => None,
    });
    let body = json(put);
    (body.len() > 2).then(|| tag(&body))
}

async fn delete_one(
    State(snippets): State<Snippets>,
    access: Access,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    access.require_service()?;
    let config = snippets.config();
    let address = address_of_write(&uri, &config)?;
    let language = match content_language(&headers)? {
        None => Languages::None,
        Some("*") => Languages::All,
        Some(language) => Languages::One(language),
    };
    let condition = condition(&headers)?;
    let now = snippets.clock().now();
    snippets
        .store()
        .transact(Shard::of(&address.key), async |tx| {
            condition.check(tx, &address.target, &address.key, language, now).await?;
            let changes = delete::changes(tx, &address.target, &address.key, language).await?;
            write(tx, &address.key, &changes, Origin::Request, now).await?;
            Ok::<_, Error>(())
        })
        .await?;
    metrics::deleted(&address.target.section);
    Ok(done(&address, Vec::new()))
}

async fn get_one(
    State(snippets): State<Snippets>,
    access: Access,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response> {
    access.require_service()?;
    let config = snippets.config();
    let address = address_of(&uri, &config)?;
    let language = address.language.as_deref().unwrap_or_default();
    let wanted: Vec<_> = works(&address.target)?
        .into_iter()
        .map(|(snippet, work)| DocumentRef { snippet, work, language: language.to_owned() })
        .collect();
    let rows = read(snippets.store(), &[&address.key], &wanted, snippets.clock().now())
        .await
        .map_err(Error::from)?;
    let found: Vec<_> = wanted.iter().zip(rows).filter_map(|(wanted, row)| Some((wanted, row?))).collect();
    if found.is_empty() {
        let (name, key) = (&address.target.section.name, &address.key);
        let language =
            address.language.as_ref().map_or_else(String::new, |language| format!(" in {language}"));
        return Err(Problem::not_found(format!("there is no snippet {name} for {key:?}{language}")));
    }
    if let ([(_, row)], 1, true) = (&found[..], wanted.len(), wants_bytes(&headers)) {
        return Ok(answer(&headers, row.content.clone(), "application/octet-stream"));
    }
    let documents = found.iter().map(|(wanted, row)| (&*wanted.snippet.name, row.format(), &row.content[..]));
    Ok(answer(&headers, json(documents).into(), "application/json"))
}

async fn reload(State(snippets): State<Snippets>, access: Access) -> Result<StatusCode> {
    access.require_admin()?;
    snippets.reload().await?;
    Ok(StatusCode::NO_CONTENT)
}

fn answer(headers: &HeaderMap, body: Bytes, content_type: &'static str) -> Response {
    let etag = tag(&body);
    let unchanged =
        headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|text| {
            text.split(',')
                .map(|tag| tag.trim().trim_start_matches("W/"))
                .any(|tag| tag == etag || tag == "*")
        });
    let (status, body) = if unchanged {
        (StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        (StatusCode::OK, pieces::body(body))
    };
    let mut response = (status, body).into_response();
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        own.insert(header::ETAG, etag);
    }
    response
}

/// An address has no query: what stands behind a `?` was meant to be part of the key, or means nothing.
fn address_of(uri: &Uri, config: &crate::Config) -> Result<Address> {
    if uri.query().is_some() {
        let detail = "the address of a document ends with its key or language; a ? in a key is %3F";
        return Err(Problem::new(Code::BadRequest, detail));
    }
    Ok(address::parse(uri.path(), config)?)
}

fn address_of_write(uri: &Uri, config: &crate::Config) -> Result<Address> {
    let address = address_of(uri, config)?;
    if address.language.is_some() {
        let detail =
            "the language of a PUT or DELETE is its header Content-Language, not part of the address";
        return Err(Problem::new(Code::BadRequest, detail));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not about a document is the router's: probes, `/-/…`, and methods that it refuses or derives.
    #[test]
    fn a_document_has_a_name_and_a_key() {
        let ours = ["/a/b", "/a/b/ru", "/a/%2F", "/a/", "//b", "/-a/b"];
        let not_ours = ["/", "/a", "/healthz", "/-/lookup", "/-/x/y", "", "*", "a/b"];
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            assert!(ours.iter().all(|path| is_about_a_document(&method, path)), "{method}");
            assert!(!not_ours.iter().any(|path| is_about_a_document(&method, path)), "{method}");
        }
        for method in [Method::HEAD, Method::POST, Method::OPTIONS] {
            assert!(!is_about_a_document(&method, "/a/b"), "{method}");
        }
    }
}
