use jaq_core::ValX;
use jaq_json::{Error, Val};
use serde_json::Value;

use crate::error::Invalid;
use crate::json::parse_json;

/// Most bytes of one output.
const MAX_BYTES: usize = 4 << 20;
/// As deep as JSON that comes in may be nested.
const MAX_DEPTH: usize = 127;
/// Nobody reads more.
const MAX_ERROR_CHARS: usize = 1_000;

/// An output as JSON, or why there is none.
pub(super) fn value(output: ValX<'_, Val>) -> Result<Value, Invalid> {
    let value = output.map_err(|exception| match exception.get_err() {
        Ok(error) => Invalid::new(words(error)),
        Err(_) => Invalid::new("the jq program halts, which it must not"),
    })?;
    check_size(&value).map_err(|reason| Invalid::new(format!("the output of the jq program {reason}")))?;
    // Numbers that are none, bytes that are no text, and names that are no texts.
    parse_json(value.to_string().as_bytes()).map_err(|_| {
        Invalid::new(format!("the output of the jq program is not JSON: {}", shortened(value.to_string())))
    })
}

/// Looks at every part of a value, without recursion: a few steps can make a value of astronomical size, whose parts are
/// shared.
fn check_size(value: &Val) -> Result<(), String> {
    let mut left = MAX_BYTES;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        let own = match value {
            Val::BStr(bytes) | Val::TStr(bytes) => bytes.len() + 2,
            _ => 1,
        };
        left = left.checked_sub(own).ok_or_else(|| format!("is over {MAX_BYTES} bytes"))?;
        let children: Vec<&Val> = match value {
            Val::Arr(items) => items.iter().collect(),
            Val::Obj(fields) => fields.iter().flat_map(|(key, value)| [key, value]).collect(),
            _ => continue,
        };
        if depth == MAX_DEPTH {
            return Err(format!("is nested more than {MAX_DEPTH} times"));
        }
        if children.len() > left {
            return Err(format!("is over {MAX_BYTES} bytes"));
        }
        open.extend(children.into_iter().map(|child| (child, depth + 1)));
    }
    Ok(())
}

/// What `error("…")` says, without the quotes around it.
fn words(error: Error) -> String {
    let value = error.into_val();
    if let Err(reason) = check_size(&value) {
        return format!("the jq program fails with an error that {reason}");
    }
    let shown = value.to_string();
    shortened(serde_json::from_str(&shown).unwrap_or(shown))
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_ERROR_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
