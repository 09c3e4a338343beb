//! How the key (and the version) of a topic's message is found.

use prost_reflect::{DynamicMessage, MessageDescriptor, Value as Reflected};
use serde_json::Value;
use topics::Record;

use crate::convertors::{decode, described};
use crate::registry::Making;

/// Takes a text out of a message.
pub trait Extractor: Send + Sync {
    fn extract(&self, record: &Record) -> Result<String, String>;
}

/// The message's own key.
pub(crate) struct MessageKey;

impl Extractor for MessageKey {
    fn extract(&self, record: &Record) -> Result<String, String> {
        String::from_utf8(record.key.clone()).map_err(|_| "the message's key is not UTF-8".to_owned())
    }
}

/// A header of the message.
pub(crate) struct HeaderValue(String);

impl HeaderValue {
    pub(crate) fn new(name: &str) -> Result<Self, String> {
        if name.is_empty() {
            Err("it needs a name: header:NAME".to_owned())
        } else {
            Ok(Self(name.to_owned()))
        }
    }
}

impl Extractor for HeaderValue {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let value =
            record.header(&self.0).ok_or_else(|| format!("the message has no header {:?}", self.0))?;
        String::from_utf8(value.to_vec()).map_err(|_| format!("the header {:?} is not UTF-8", self.0))
    }
}

/// A value of a JSON message.
pub(crate) struct JsonPointer(String);

impl JsonPointer {
    pub(crate) fn new(pointer: &str) -> Result<Self, String> {
        if pointer.starts_with('/') {
            Ok(Self(pointer.to_owned()))
        } else {
            Err("it needs a JSON pointer: json:/a/b".to_owned())
        }
    }
}

impl Extractor for JsonPointer {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let json: Value = serde_json::from_slice(&record.payload)
            .map_err(|error| format!("the message is not JSON: {error}"))?;
        match json.pointer(&self.0) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(format!("{} of the message is neither a text nor a number", self.0)),
            None => Err(format!("the message has no {}", self.0)),
        }
    }
}

/// A field of a protobuf message, or of a message in it.
pub(crate) struct ProtobufField {
    message: MessageDescriptor,
    path: Vec<String>,
}

impl ProtobufField {
    pub(crate) fn load(making: &Making<'_>) -> Result<Self, String> {
        let message =
            described(making, making.input_message)?.ok_or("it needs DescriptorSet and InputMessage")?;
        let path: Vec<String> = making.parameter.split('.').map(str::to_owned).collect();
        let mut within = Some(message.clone());
        for name in &path {
            let field = within.as_ref().and_then(|message| message.get_field_by_name(name));
            let field =
                field.ok_or_else(|| format!("{} has no field {}", message.full_name(), making.parameter))?;
            within = field.kind().as_message().filter(|_| !field.is_list() && !field.is_map()).cloned();
        }
        Ok(Self { message, path })
    }

    fn walk(&self, message: &DynamicMessage, path: &[String]) -> Result<String, String> {
        let missing = || format!("the message has no {}", self.path.join("."));
        let Some((name, rest)) = path.split_first() else { return Err(missing()) };
        let value = message.get_field_by_name(name).ok_or_else(missing)?;
        if !rest.is_empty() {
            return self.walk(value.as_message().ok_or_else(missing)?, rest);
        }
        match value.as_ref() {
            Reflected::String(text) => Ok(text.clone()),
            Reflected::I32(number) => Ok(number.to_string()),
            Reflected::I64(number) => Ok(number.to_string()),
            Reflected::U32(number) => Ok(number.to_string()),
            Reflected::U64(number) => Ok(number.to_string()),
            _ => Err(format!("{} of the message is neither a text nor a whole number", self.path.join("."))),
        }
    }
}

impl Extractor for ProtobufField {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let message = decode(&self.message, &record.payload).map_err(|invalid| invalid.message)?;
        self.walk(&message, &self.path)
    }
}
