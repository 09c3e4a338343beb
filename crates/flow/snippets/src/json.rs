//! JSON as strictly as validators need it.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::{Entry, Map};
use serde_json::{Number, Value};

use crate::error::Invalid;

/// A name that stands twice in one object is refused. Of two values a validator would see the one and a
/// reader of the stored text perhaps the other.
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Value, Invalid> {
    let twice = RefCell::new(None);
    // Looked at once as a whole: string by string takes longer. What is wrong with one that is not UTF-8, the parser says.
    let parsed = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => whole(serde_json::Deserializer::from_str(text), &twice),
        Err(_) => whole(serde_json::Deserializer::from_slice(bytes), &twice),
    };
    parsed.map_err(|error| match twice.into_inner() {
        Some(twice) => twice.into(),
        None => Invalid::new(format!("this is not JSON: {error}")),
    })
}

fn whole<'de, R: serde_json::de::Read<'de>>(
    mut parser: serde_json::Deserializer<R>,
    twice: &RefCell<Option<Twice>>,
) -> serde_json::Result<Value> {
    let value = Strict { twice }.deserialize(&mut parser)?;
    parser.end()?;
    Ok(value)
}

/// The name that stands twice, and the names and indexes that lead to it, the last one first.
struct Twice {
    name: String,
    path: Vec<String>,
}

impl From<Twice> for Invalid {
    fn from(twice: Twice) -> Self {
        let pointer = twice.path.iter().rev().fold(String::new(), |pointer, part| child(&pointer, part));
        Self { pointer, message: format!("the name {:?} stands twice in one object", twice.name) }
    }
}

/// The JSON pointer to a part of what the pointer leads to.
pub(crate) fn child(pointer: &str, part: &str) -> String {
    format!("{pointer}/{}", part.replace('~', "~0").replace('/', "~1"))
}

/// Makes the same values as `serde_json` does for itself, in the same one pass.
#[derive(Clone, Copy)]
struct Strict<'t> {
    twice: &'t RefCell<Option<Twice>>,
}

impl Strict<'_> {
    /// On the way out after a failure: notes where it was.
    #[cold]
    fn was_in(self, part: &str) {
        if let Some(twice) = &mut *self.twice.borrow_mut() {
            twice.path.push(part.to_owned());
        }
    }

    #[cold]
    fn refuse<E: Error>(self, name: &str) -> E {
        *self.twice.borrow_mut() = Some(Twice { name: name.to_owned(), path: vec![name.to_owned()] });
        E::custom("a name stands twice")
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    #[inline]
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    #[inline]
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    #[inline]
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    #[inline]
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    #[inline]
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    #[inline]
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    #[inline]
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            match items.next_element_seed(self) {
                Ok(Some(value)) => values.push(value),
                Ok(None) => return Ok(Value::Array(values)),
                Err(error) => {
                    self.was_in(&values.len().to_string());
                    return Err(error);
                }
            }
        }
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            match values.entry(name) {
                Entry::Occupied(entry) => return Err(self.refuse(entry.key())),
                Entry::Vacant(entry) => match fields.next_value_seed(self) {
                    Ok(value) => drop(entry.insert(value)),
                    Err(error) => {
                        self.was_in(entry.key());
                        return Err(error);
                    }
                },
            }
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_with_its_place() {
        let check = |text: &str, pointer: &str, name: &str| {
            let message = format!("the name {name:?} stands twice in one object");
            let expected = Invalid { pointer: pointer.to_owned(), message };
            assert_eq!(parse_json(text.as_bytes()), Err(expected), "{text}");
        };
        check(r#"{"title": "a", "title": "b"}"#, "/title", "title");
        check(r#"{"a": [1, {"b": {"c/~": 1, "c\/~": 2}}]}"#, "/a/1/b/c~1~0", "c/~");
        check(r#"{"\u0061": 1, "b": {"a": 1}, "a": 2}"#, "/a", "a");
        assert!(parse_json(br#"[{"a": 1}, {"a": 2, "b": {"a": 3}}]"#).is_ok());
    }

    #[test]
    fn everything_else_is_as_serde_json_has_it() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let texts = [
            "null",
            "true",
            "\"\\n\\ud83d\\ude00я\"",
            "[]",
            "{}",
            "0",
            "-0",
            "-0.0",
            "1e2",
            "1.5",
            "-1",
            "1e400",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "0.1",
            "123456789012345678901234567890",
            "1 2",
            "[1,]",
            "{\"a\"}",
            "{\"a\": [}",
            "{1: 2}",
            "",
            "nan",
            "\"\\ud800\"",
            "{\"a\": {\"b\": [1, \"x\", null, {}]}, \"c\": false}",
        ];
        let texts = texts.map(str::to_owned).into_iter().chain([deep(127), deep(128), deep(100_000)]);
        for text in texts {
            let usual = serde_json::from_str::<Value>(&text);
            let usual = usual.map_err(|error| Invalid::new(format!("this is not JSON: {error}")));
            assert_eq!(parse_json(text.as_bytes()), usual, "{text:.40}");
        }
        assert!(
            parse_json(b"\"\xff\"").unwrap_err().message.starts_with("this is not JSON: invalid unicode")
        );
        // What serde_json keeps for itself is a name as any other.
        let own = r#"{"$serde_json::private::RawValue": "{\"a\": 1, \"a\": 2}"}"#;
        assert_eq!(parse_json(own.as_bytes()).unwrap().to_string().len(), own.len() - 1);
    }
}
