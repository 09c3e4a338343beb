//! Which snippet, key and language a URL names.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::config::{Config, Target, refuse_segment};
use crate::error::Error;

/// Longest key: what the store takes for a row's key, less the rest of it.
pub(crate) const MAX_KEY_BYTES: usize = 1_024;

/// What a path names.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) target: Target,
    pub(crate) key: String,
    pub(crate) language: Option<String>,
}

/// Reads `/{name}/{key}[/{language}]`. The longest configured name wins behind which there is a key; so a key may be what
/// a section within its snippet is called.
pub(crate) fn parse(path: &str, config: &Config) -> Result<Address, Error> {
    let segments: Vec<Cow<'_, str>> =
        path.strip_prefix('/').unwrap_or(path).split('/').map(decode).collect::<Result<_, _>>()?;
    // Only whole segments make a name: a slash that was written as %2F is part of a key.
    let named = segments.iter().take_while(|segment| refuse_segment(segment).is_none()).count();
    let target = |count: usize| {
        let target = match &segments[..count] {
            [name] => config.target(name),
            names => config.target(&names.join("/")),
        };
        Some((count, target?))
    };
    let longest = (1..=named).rev().find_map(target);
    let found = match longest {
        Some((count, _)) if count == segments.len() => {
            let shorter = (1..count).rev().find_map(target);
            shorter.filter(|(_, target)| !target.snippets.is_empty()).or(longest)
        }
        longest => longest,
    };
    let Some((count, target)) = found else {
        return Err(bad(match refuse_segment(&segments[0]) {
            Some(reason) => format!("{:?} is not a snippet's name: {reason}", segments[0]),
            None => format!("no snippet is configured under {:?} or a part of it", segments.join("/")),
        }));
    };
    let name = &target.section.name;
    let (key, language) = match &segments[count..] {
        [key] => (key, None),
        [key, language] => (key, Some(language)),
        [] => return Err(bad(format!("the address has no key: /{name}/KEY"))),
        _ => {
            return Err(bad(format!(
                "behind the name {name} come a key and a language; a slash in a key is %2F"
            )));
        }
    };
    check_key(key).map_err(bad)?;
    if let Some(language) = language.filter(|language| !is_language(language)) {
        return Err(bad(format!("{language:?} is not a language such as ru or pt-BR")));
    }
    Ok(Address { target: target.clone(), key: key.to_string(), language: language.map(ToString::to_string) })
}

/// A segment as it is meant. Half an escape is refused: taken as it is, it would be another writing of the same key.
fn decode(segment: &str) -> Result<Cow<'_, str>, Error> {
    let is_escape = |rest: &[u8]| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit);
    let mut bytes = segment.as_bytes();
    while let Some(at) = bytes.iter().position(|byte| *byte == b'%') {
        bytes = &bytes[at + 1..];
        if !is_escape(bytes) {
            return Err(bad(format!(
                "{segment:?} has a % without two hex digits after it; write %25 for a %"
            )));
        }
    }
    let decoded = percent_decode_str(segment).decode_utf8();
    decoded.map_err(|_| bad(format!("{segment:?} is not UTF-8 when it is decoded")))
}

/// A key is any text that the store can keep as it is.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() {
        return Err("a key has at least one character".to_owned());
    }
    if key.len() > MAX_KEY_BYTES {
        return Err(format!("a key of {} bytes is over the limit of {MAX_KEY_BYTES}", key.len()));
    }
    if key.contains('\0') {
        return Err("a key does not hold the character NUL".to_owned());
    }
    Ok(())
}

/// `[a-z]{2,3}(-[A-Z]{2})?`
pub(crate) fn is_language(text: &str) -> bool {
    let (language, country) = text.split_once('-').map_or((text, None), |(first, rest)| (first, Some(rest)));
    (2..=3).contains(&language.len())
        && language.bytes().all(|byte| byte.is_ascii_lowercase())
        && country
            .is_none_or(|country| country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase()))
}

fn bad(message: String) -> Error {
    Error::BadRequest(message)
}
