//! What the headers of a call about documents say. One that cannot be honoured is refused: a caller who sends it takes it for
//! working.

use axum::http::{HeaderMap, HeaderName, header};
use web::{Code, Problem, Result};

use crate::Format;
use crate::address::{Address, is_language};
use crate::condition::{Condition, Tags};
use crate::prepare::works;

fn bad(detail: impl Into<String>) -> Problem {
    Problem::new(Code::BadRequest, detail)
}

/// The value of a header that stands once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(bad(format!("the header {name} is given twice")));
    }
    value.to_str().map(Some).map_err(|_| bad(format!("the header {name} cannot be read")))
}

/// A body is whole, and as it is.
pub(super) fn refuse_encoding(headers: &HeaderMap) -> Result<()> {
    if let Some(encoding) = single(headers, &header::CONTENT_ENCODING)?
        && !encoding.eq_ignore_ascii_case("identity")
    {
        let detail = format!("Content-Encoding {encoding:?} is not taken: send the content as it is");
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(bad("a part of a document cannot be written: no Content-Range"));
    }
    Ok(())
}

/// The body's format: as `Content-Type` says, which only a snippet of text or bytes alone can do without.
pub(super) fn format(headers: &HeaderMap, address: &Address) -> Result<Format> {
    if let Some(text) = single(headers, &header::CONTENT_TYPE)? {
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
        _ => Err(bad("the header Content-Type is missing: json, pb, or another that the snippet takes")),
    }
}

/// As the header Content-Language has it; `*` is for who deletes.
pub(super) fn content_language(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(text) = single(headers, &header::CONTENT_LANGUAGE)? else { return Ok(None) };
    if is_language(text) || text == "*" {
        return Ok(Some(text));
    }
    Err(bad(format!("Content-Language {text:?} is not a language such as ru or pt-BR")))
}

/// What the caller knows of the documents; both headers may have several tags, and stand several times.
pub(super) fn condition(headers: &HeaderMap) -> Result<Condition> {
    let tags = |name: &HeaderName| {
        let values: Result<Vec<_>, _> = headers.get_all(name).iter().map(|value| value.to_str()).collect();
        let values = values.map_err(|_| bad(format!("the header {name} cannot be read")))?;
        Ok::<_, Problem>(Tags::read(values.into_iter()))
    };
    Ok(Condition { if_match: tags(&header::IF_MATCH)?, if_none_match: tags(&header::IF_NONE_MATCH)? })
}

pub(super) fn wants_bytes(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|accept| accept.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let weight = |part: &str| part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        parts.next() == Some("application/octet-stream")
            && parts.filter_map(weight).all(|weight| weight > 0.0)
    })
}
