//! The text of a configuration as sections with options, as they are written.

use std::sync::LazyLock;

use miette::Diagnostic as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, MessageDescriptor, Value as Reflected};

use super::options::Value;
use super::outline::{Field, Place, outline, too_deep};
use crate::Format;
use crate::descriptors;
use crate::error::ConfigError;

const SCHEMA: &str = include_str!("../../../../../proto/dvor/snippets/v1/snippets_config.proto");

/// Part of the program, so it cannot fail at run time; the tests read it.
static SECTION: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    descriptors::compile_one("dvor/snippets/v1/snippets_config.proto", SCHEMA)
        .ok()
        .and_then(|pool| pool.get_message_by_name("dvor.snippets.v1.ConfigSection"))
        .expect("the schema of the configuration is right")
});

/// A section as it is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) options: Vec<(String, Value, Place)>,
    pub(super) sections: Vec<Written>,
}

/// The options that a section can have, in the order of their numbers.
pub fn option_names() -> Vec<String> {
    let Some(body) = SECTION.get_field_by_name("Body").and_then(|field| field.kind().as_message().cloned())
    else {
        return Vec::new();
    };
    body.fields().filter(|field| field.name() != "Section").map(|field| field.name().to_owned()).collect()
}

pub(super) fn read(text: &str) -> Result<Written, ConfigError> {
    let text = without_mark(text);
    let at = |offset, message: String| ConfigError::at(Place::of(text, offset), message);
    if let Some(offset) = too_deep(text) {
        return Err(at(offset, "sections are nested too deeply".to_owned()));
    }
    let message = DynamicMessage::parse_text_format(SECTION.clone(), text).map_err(|error| {
        let label = error.labels().and_then(|mut labels| labels.next());
        at(label.map_or(text.len(), |label| label.offset()), error.to_string())
    })?;
    section(text, &message, &outline(text), Place { line: 1, column: 1 })
}

/// The bytes as text, or the place where they are none.
pub(crate) fn utf8(bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let right = String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned();
        ConfigError::at(Place::of(&right, end), "this is not UTF-8")
    })
}

/// Some editors begin a file with the mark of UTF-8; it means nothing.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text as prost-reflect prints what it has read of it; none: it cannot be read.
pub(crate) fn printed(text: &str) -> Option<String> {
    Some(DynamicMessage::parse_text_format(SECTION.clone(), without_mark(text)).ok()?.to_text_format())
}

fn section(
    text: &str,
    message: &DynamicMessage,
    fields: &[Field<'_>],
    place: Place,
) -> Result<Written, ConfigError> {
    let place_of = |name: &str, fields: &[Field<'_>]| {
        fields.iter().find(|field| field.name == name).map_or(place, |field| Place::of(text, field.offset))
    };
    let mut written = Written {
        name: text_of(message, "Name"),
        place: place_of("Name", fields),
        options: Vec::new(),
        sections: Vec::new(),
    };
    let Some(body) = message.get_field_by_name("Body") else { return Ok(written) };
    let Some(body) = body.as_message() else { return Ok(written) };
    let inner = fields.iter().find(|field| field.name == "Body").map_or(&[][..], |field| &field.fields);
    for (field, value) in body.fields() {
        if field.name() == "Section" {
            let places = inner.iter().filter(|field| field.name == "Section");
            let children = value.as_list().unwrap_or_default().iter().filter_map(Reflected::as_message);
            written.sections = children
                .zip(places)
                .map(|(child, field)| section(text, child, &field.fields, Place::of(text, field.offset)))
                .collect::<Result<_, _>>()?;
            continue;
        }
        let place = place_of(field.name(), inner);
        let value = option_value(&field, value).map_err(|message| ConfigError::at(place, message))?;
        written.options.push((field.name().to_owned(), value, place));
    }
    Ok(written)
}

fn text_of(message: &DynamicMessage, field: &str) -> String {
    let value = message.get_field_by_name(field);
    value.as_deref().and_then(Reflected::as_str).unwrap_or_default().to_owned()
}

fn option_value(field: &FieldDescriptor, value: &Reflected) -> Result<Value, String> {
    let name = field.name();
    match value {
        Reflected::Bool(flag) => Ok(Value::Flag(*flag)),
        Reflected::U32(number) => Ok(Value::Number(*number)),
        Reflected::String(text) => Ok(Value::Text(text.clone())),
        Reflected::EnumNumber(number) => format(field, *number).map(Value::Format),
        Reflected::List(values) if values.iter().all(|value| value.as_str().is_some()) => {
            Ok(Value::Texts(values.iter().filter_map(Reflected::as_str).map(str::to_owned).collect()))
        }
        Reflected::List(values) => {
            let numbers = values.iter().filter_map(Reflected::as_enum_number);
            numbers.map(|number| format(field, number)).collect::<Result<_, _>>().map(Value::Formats)
        }
        _ => Err(format!("{name} has a value that is not known")),
    }
}

/// The reader takes any number for a format, also one that stands for none.
fn format(field: &FieldDescriptor, number: i32) -> Result<Format, String> {
    let kind = field.kind();
    let named = kind.as_enum().and_then(|formats| formats.get_value(number));
    let known = named.and_then(|named| Format::by_name(named.name()));
    known.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        format!("{}: no format has the number {number}; there is {names}", field.name())
    })
}
