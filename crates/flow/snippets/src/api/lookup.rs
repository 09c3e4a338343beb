//! `POST /-/lookup`: the documents of many keys and names in one answer.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use bytes::Bytes;
use kit::Timestamp;
use web::{Access, Code, Problem, Result};

use super::headers::refuse_encoding;
use super::pieces;
use crate::lookup::{LookupResult, Question, lookup};
use crate::prepare::DocumentRef;
use crate::representation::write_content;
use crate::snippets::Snippets;
use crate::tables::DocumentRow;

pub(super) fn routes() -> Router<Snippets> {
    Router::new().route("/-/lookup", post(look_up))
}

async fn look_up(
    State(snippets): State<Snippets>,
    access: Access,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    access.require_service()?;
    refuse_encoding(&headers)?;
    let question: Question = serde_json::from_slice(&body).map_err(|error| {
        Problem::new(Code::BadRequest, format!("the body is not {{\"names\", \"keys\", \"langs\"}}: {error}"))
    })?;
    let config = snippets.config();
    let LookupResult { unknown, wanted, keys, rows } =
        lookup(snippets.store(), &config, question, snippets.clock().now()).await?;
    let sizes = rows.iter().flatten().map(|row| row.content.len() * 4 / 3 + 128);
    let mut body = Vec::with_capacity(sizes.sum::<usize>() + 16);
    body.extend_from_slice(b"{\"items\":[");
    let frames: Vec<_> = wanted.iter().map(ItemFrame::of).collect();
    for (key, rows) in keys.iter().zip(rows.chunks(wanted.len().max(1))) {
        let key = serde_json::Value::from(key.as_str()).to_string();
        for (frame, row) in frames.iter().zip(rows) {
            if let Some(row) = row {
                frame.write(&mut body, &key, row);
                body.push(b',');
            }
        }
    }
    body.pop_if(|last| *last == b',');
    body.push(b']');
    if !unknown.is_empty() {
        body.extend_from_slice(b",\"unknown_names\":");
        body.extend_from_slice(serde_json::Value::from(unknown).to_string().as_bytes());
    }
    body.push(b'}');
    Ok(([(header::CONTENT_TYPE, "application/json")], pieces::body(body.into())).into_response())
}

/// What stands around every document of one name and language. Written by hand, since content is JSON already and there
/// are many of them; names and languages need no escapes.
struct ItemFrame {
    before_key: String,
    before_content: String,
}

impl ItemFrame {
    fn of(wanted: &DocumentRef) -> Self {
        let language = match wanted.language.as_str() {
            "" => "null".to_owned(),
            language => format!("\"{language}\""),
        };
        Self {
            before_key: format!("{{\"name\":\"{}\",\"key\":", wanted.snippet.name),
            before_content: format!(",\"lang\":{language},\"content\":"),
        }
    }

    fn write(&self, out: &mut Vec<u8>, key: &str, row: &DocumentRow) {
        for part in [&self.before_key, key, &self.before_content] {
            out.extend_from_slice(part.as_bytes());
        }
        write_content(out, row.format(), &row.content);
        match row.expires_at {
            None => out.extend_from_slice(b",\"expires_at\":null}"),
            Some(at) => out.extend_from_slice(format!(",\"expires_at\":\"{}\"}}", Timestamp(at)).as_bytes()),
        }
    }
}
