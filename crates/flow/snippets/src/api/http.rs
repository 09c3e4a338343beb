//! `PUT`, `GET` and `DELETE /{name}/{key}`, and `/-/…`, which no name can be.

use axum::body::Body;
use axum::extract::{FromRequest as _, FromRequestParts as _, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Serialize;
use store::Shard;
use web::{Access, Code, Problem, Result};

use super::pieces;
use crate::address::{self, Address, is_language};
use crate::content::Content;
use crate::get::read;
use crate::prepare::{Meant, works};
use crate::put::{Origin, write};
use crate::snippets::Snippets;
use crate::tables::DocumentRow;
use crate::{Error, Format, delete, metrics};

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
                    let detail = "the content is larger than the setting limits.body_bytes allows";
                    Err(Problem::new(Code::TooLarge, detail))
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
}

fn done(address: &Address) -> Response {
    let snippets = address.target.snippets.iter().map(|snippet| snippet.name.as_str()).collect();
    Json(Done { key: &address.key, snippets }).into_response()
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
    let format = format(&headers, &address)?;
    let language = content_language(&headers)?;
    let content = Content::new(body, format);
    snippets.put_to(&address.target, &address.key, &content, language.as_deref()).await?;
    Ok(done(&address))
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
    let language = content_language(&headers)?;
    let now = snippets.clock().now();
    snippets
        .store()
        .transact(Shard::of(&address.key), async |tx| {
            let changes = delete::changes(tx, &address.target, &address.key, language.as_deref()).await?;
            write(tx, &address.key, &changes, Origin::Request, now).await?;
            Ok::<_, Error>(())
        })
        .await?;
    metrics::deleted(&address.target.section);
    Ok(done(&address))
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
        .map(|(snippet, work)| Meant { snippet, work, language: language.to_owned() })
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
    let mut body =
        Vec::with_capacity(64 + found.iter().map(|(_, row)| row.content.len() * 4 / 3).sum::<usize>());
    for (index, (wanted, row)) in found.iter().enumerate() {
        body.extend_from_slice(if index == 0 { b"{\"" } else { b",\"" });
        // Names need no escapes.
        body.extend_from_slice(wanted.snippet.name.as_bytes());
        body.extend_from_slice(b"\":");
        write_content(&mut body, row);
    }
    body.push(b'}');
    Ok(answer(&headers, body.into(), "application/json"))
}

async fn reload(State(snippets): State<Snippets>, access: Access) -> Result<StatusCode> {
    access.require_admin()?;
    snippets.reload().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A document as a JSON value: JSON as it is, text as a string, bytes as base64. As it was written: what the snippet's
/// `Output` is now says nothing about it.
pub(super) fn write_content(out: &mut Vec<u8>, row: &DocumentRow) {
    match row.format() {
        Format::Json => out.extend_from_slice(&row.content),
        Format::Text => {
            let text = String::from_utf8_lossy(&row.content);
            out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
        }
        Format::Pb | Format::Binary => {
            out.push(b'"');
            out.extend_from_slice(BASE64_STANDARD.encode(&row.content).as_bytes());
            out.push(b'"');
        }
    }
}

fn answer(headers: &HeaderMap, body: Bytes, content_type: &'static str) -> Response {
    let hash = blake3::hash(&body);
    let etag = format!("\"{}\"", &hash.to_hex()[..32]);
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

/// The body's format: as `Content-Type` says, which only a snippet of text or bytes alone can do without.
fn format(headers: &HeaderMap, address: &Address) -> Result<Format> {
    let bad = |detail: String| Problem::new(Code::BadRequest, detail);
    if let Some(value) = headers.get(header::CONTENT_TYPE) {
        let text = value.to_str().map_err(|_| bad("the header Content-Type cannot be read".to_owned()))?;
        return Format::of_content_type(text).ok_or_else(|| {
            bad(format!("Content-Type {text:?} is not json, pb, text or binary, nor a media type of these"))
        });
    }
    let mut accepted: Vec<Format> =
        works(&address.target)?.iter().flat_map(|(_, work)| work.inputs.clone()).collect();
    accepted.sort_unstable();
    accepted.dedup();
    match accepted[..] {
        [only @ (Format::Text | Format::Binary)] => Ok(only),
        _ => Err(bad(
            "the header Content-Type is missing: json, pb, or another that the snippet takes".to_owned()
        )),
    }
}

fn content_language(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(header::CONTENT_LANGUAGE) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    if is_language(text) {
        return Ok(Some(text.to_owned()));
    }
    Err(Problem::new(
        Code::BadRequest,
        format!("Content-Language {text:?} is not a language such as ru or pt-BR"),
    ))
}

fn wants_bytes(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let weight = |part: &str| part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        parts.next() == Some("application/octet-stream")
            && parts.filter_map(weight).all(|weight| weight > 0.0)
    })
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
