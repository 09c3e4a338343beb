use bytes::Bytes;
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;
use serde_path_to_error::{Deserializer, Segment, Track};

use super::{Convertor, Document};
use crate::Format;
use crate::content::Content;
use crate::descriptors;
use crate::error::{Invalid, Refusal};
use crate::json::child;
use crate::registry::Making;

/// JSON to protobuf and back, by a description of the message.
pub(crate) struct Protobuf {
    input: Option<MessageDescriptor>,
    output: Option<MessageDescriptor>,
}

impl Protobuf {
    pub(crate) fn load(making: &Making<'_>) -> Result<Self, String> {
        let (input, output) =
            (described(making, making.input_message)?, described(making, making.output_message)?);
        if input.is_none() && output.is_none() {
            return Err("it needs DescriptorSet and InputMessage or OutputMessage".to_owned());
        }
        Ok(Self { input, output })
    }
}

pub(crate) fn described(
    making: &Making<'_>,
    name: Option<&str>,
) -> Result<Option<MessageDescriptor>, String> {
    match (making.descriptor_set, name) {
        (_, None) => Ok(None),
        (Some(file), Some(name)) => descriptors::message(making.assets, file, name).map(Some),
        (None, Some(name)) => Err(format!("message {name} needs a DescriptorSet")),
    }
}

impl Convertor for Protobuf {
    fn supports(&self, input: Format, output: Format) -> bool {
        match (input, output) {
            (Format::Json, Format::Pb) => self.output.is_some(),
            (Format::Pb, Format::Json | Format::Pb) => self.input.is_some(),
            (Format::Json, Format::Json) => true,
            _ => false,
        }
    }

    fn speaks(&self, _: &str) -> bool {
        false
    }

    fn convert(
        &self,
        content: &Content,
        output: Format,
        languages: &[&str],
    ) -> Result<Vec<Document>, Refusal> {
        let bytes = match (content.format, output, &self.input, &self.output) {
            (Format::Json, Format::Pb, _, Some(message)) => from_json(message, content.json()?)?,
            (Format::Pb, Format::Json, Some(message), _) => {
                to_json(&decode(message, &content.bytes)?)?.to_string().into()
            }
            (Format::Pb, Format::Pb, Some(message), _) => {
                decode(message, &content.bytes)?;
                content.bytes.clone()
            }
            _ => content.bytes.clone(),
        };
        Ok(vec![Document::Put(bytes); languages.len()])
    }
}

pub(crate) fn decode(message: &MessageDescriptor, bytes: &Bytes) -> Result<DynamicMessage, Invalid> {
    DynamicMessage::decode(message.clone(), bytes.clone())
        .map_err(|error| Invalid::new(format!("this is not a message {}: {error}", message.full_name())))
}

/// Fields keep the names that the description gives them.
pub(crate) fn to_json(message: &DynamicMessage) -> Result<Value, Invalid> {
    let options = SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| Invalid::new(format!("this message cannot be shown as JSON: {error}")))
}

pub(crate) fn from_json(message: &MessageDescriptor, json: &Value) -> Result<Bytes, Invalid> {
    let read = DynamicMessage::deserialize(message.clone(), json);
    let read = read.map_err(|error| Invalid {
        pointer: place_of_error(message, json),
        message: format!("this is not a message {}: {error}", message.full_name()),
    })?;
    Ok(read.encode_to_vec().into())
}

/// Reads again what could not be read and notes the way: what can be read has no use for that.
fn place_of_error(message: &MessageDescriptor, json: &Value) -> String {
    let mut track = Track::new();
    let read = DynamicMessage::deserialize(message.clone(), Deserializer::new(json, &mut track));
    if read.is_ok() {
        return String::new();
    }
    track.path().iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => child(&pointer, &index.to_string()),
        Segment::Map { key } => child(&pointer, key),
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}
