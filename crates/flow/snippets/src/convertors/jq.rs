use std::sync::Arc;

use jaq_json::Val;
use prost_reflect::MessageDescriptor;
use serde_json::Value;

use super::protobuf::{decode, described, from_json, to_json};
use super::{Convertor, Document};
use crate::Format;
use crate::content::Content;
use crate::error::{Invalid, Refusal};
use crate::jq::{Program, Threads};
use crate::registry::Making;

/// A convertor that is a jq program in a file, run once for each language, which it knows as `$lang`. No output: the
/// document goes.
pub(crate) struct Jq {
    program: Program,
    reader: Reader,
    output: Option<MessageDescriptor>,
}

impl Jq {
    pub(crate) fn load(making: &Making<'_>, threads: &Arc<Threads>) -> Result<Self, String> {
        Ok(Self {
            program: Program::load(making.assets, making.parameter, threads)?,
            reader: Reader::load(making)?,
            output: described(making, making.output_message)?,
        })
    }

    fn document(&self, value: &Value, output: Format) -> Result<Document, Invalid> {
        let bytes = match (output, value, &self.output) {
            (Format::Json, _, _) => value.to_string().into(),
            // The pointer is not one into the content.
            (Format::Pb, _, Some(message)) => {
                from_json(message, value).map_err(|Invalid { pointer, message }| {
                    let place = if pointer.is_empty() { String::new() } else { format!(" at {pointer}") };
                    Invalid::new(format!("the output of the jq program{place}: {message}"))
                })?
            }
            (Format::Text, Value::String(text), _) => text.clone().into(),
            (Format::Text, _, _) => return Err(Invalid::new("the jq program gave no text")),
            (_, _, _) => return Err(Invalid::new(format!("a jq program cannot give {output}"))),
        };
        Ok(Document::Put(bytes))
    }
}

impl Convertor for Jq {
    fn supports(&self, input: Format, output: Format) -> bool {
        self.reader.reads(input)
            && match output {
                Format::Json | Format::Text => true,
                Format::Pb => self.output.is_some(),
                Format::Binary => false,
            }
    }

    fn speaks(&self, _: &str) -> bool {
        true
    }

    fn convert(
        &self,
        content: &Content,
        output: Format,
        languages: &[&str],
    ) -> Result<Vec<Document>, Refusal> {
        // One output is right, so two are enough to know.
        let outputs = self.program.run(self.reader.json(content)?, languages, 2)?;
        let each = outputs.iter().map(|values| match &values[..] {
            [] => Ok(Document::Delete),
            [value] => Ok(self.document(value, output)?),
            _ => Err(Invalid::new("the jq program gave several outputs, not one").into()),
        });
        each.collect()
    }
}

/// Content as what a jq program reads: JSON, or protobuf with a known description.
pub(crate) struct Reader {
    message: Option<MessageDescriptor>,
}

impl Reader {
    pub(crate) fn load(making: &Making<'_>) -> Result<Self, String> {
        Ok(Self { message: described(making, making.input_message)? })
    }

    pub(crate) fn reads(&self, format: Format) -> bool {
        format == Format::Json || (format == Format::Pb && self.message.is_some())
    }

    pub(crate) fn json(&self, content: &Content) -> Result<Val, Invalid> {
        let text = match (content.format, &self.message) {
            (Format::Pb, Some(message)) => to_json(&decode(message, &content.bytes)?)?.to_string().into(),
            _ => {
                // Refuses what jaq would take beyond JSON.
                content.json()?;
                content.bytes.clone()
            }
        };
        jaq_json::read::parse_single(&text)
            .map_err(|error| Invalid::new(format!("this is not JSON: {error}")))
    }
}
