use std::sync::Arc;

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, data, unwrap_valr};
use jaq_json::Val;
use prost_reflect::MessageDescriptor;
use serde_json::Value;

use super::protobuf::{decode, described, from_json, to_json};
use super::{Convertor, Document};
use crate::Format;
use crate::config::Assets;
use crate::content::{Content, parse_json};
use crate::error::Invalid;
use crate::registry::Making;

/// A convertor that is a jq program in a file, run once for each language, which it knows as `$lang`. No output: the
/// document goes.
pub(crate) struct Jq {
    program: Program,
    reader: Reader,
    output: Option<MessageDescriptor>,
}

impl Jq {
    pub(crate) fn load(making: &Making<'_>) -> Result<Self, String> {
        Ok(Self {
            program: Program::load(making.assets, making.parameter)?,
            reader: Reader::load(making)?,
            output: described(making, making.output_message)?,
        })
    }

    fn document(&self, value: &Value, output: Format) -> Result<Document, Invalid> {
        let bytes = match (output, value, &self.output) {
            (Format::Json, _, _) => value.to_string().into(),
            (Format::Pb, _, Some(message)) => from_json(message, value)?,
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
    ) -> Result<Vec<Document>, Invalid> {
        let input = self.reader.json(content)?;
        let mut documents = Vec::with_capacity(languages.len());
        for language in languages {
            let values = self.program.run(&input, language)?;
            documents.push(match &values[..] {
                [] => Document::Delete,
                [value] => self.document(value, output)?,
                _ => {
                    return Err(Invalid::new(format!(
                        "the jq program gave {} outputs, not one",
                        values.len()
                    )));
                }
            });
        }
        Ok(documents)
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

/// A compiled jq program.
pub(crate) struct Program {
    filter: Filter<data::JustLut<Val>>,
}

impl Program {
    pub(crate) fn load(assets: &Arc<Assets>, file: &str) -> Result<Self, String> {
        if file.is_empty() {
            return Err("it needs a file: jq:FILE".to_owned());
        }
        let code = assets.read_text(file)?;
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules =
            Loader::new(definitions).load(&arena, File { code: &code, path: () }).map_err(|errors| {
                errors.iter().map(|(_, error)| load_error(&code, error)).collect::<Vec<_>>().join("; ")
            })?;
        let compiled = Compiler::default().with_funs(functions).with_global_vars(["$lang"]).compile(modules);
        let filter = compiled.map_err(|errors| {
            let each = errors.iter().flat_map(|(_, errors)| errors);
            let texts: Vec<_> = each
                .map(|(name, kind)| format!("{}: there is no {} {name}", line(&code, name), kind.as_str()))
                .collect();
            texts.join("; ")
        })?;
        Ok(Self { filter })
    }

    /// Everything that the program gives.
    pub(crate) fn run(&self, input: &Val, language: &str) -> Result<Vec<Value>, Invalid> {
        let variables = Vars::new([Val::from(language.to_owned())]);
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, variables);
        let outputs = self.filter.id.run((context, input.clone())).map(unwrap_valr);
        outputs
            .map(|output| {
                let value = output.map_err(|error| Invalid::new(words(&error.to_string())))?;
                // Numbers that are none and bytes that are no text are not JSON.
                parse_json(value.to_string().as_bytes())
            })
            .collect()
    }
}

/// What `error("…")` says, without the quotes around it.
fn words(shown: &str) -> String {
    serde_json::from_str(shown).unwrap_or_else(|_| shown.to_owned())
}

fn load_error(code: &str, error: &load::Error<&str>) -> String {
    match error {
        load::Error::Io(files) => {
            files.iter().map(|(file, reason)| format!("{file}: {reason}")).collect::<Vec<_>>().join("; ")
        }
        load::Error::Lex(errors) => errors
            .iter()
            .map(|(expected, rest)| format!("{}: expected {}", line(code, rest), expected.as_str()))
            .collect::<Vec<_>>()
            .join("; "),
        load::Error::Parse(errors) => errors
            .iter()
            .map(|(expected, rest)| format!("{}: expected {}", line(code, rest), expected.as_str()))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// The line of a part of the code.
fn line(code: &str, part: &str) -> String {
    let offset = (part.as_ptr() as usize).wrapping_sub(code.as_ptr() as usize);
    match code.as_bytes().get(..offset) {
        Some(before) => format!("line {}", before.split(|byte| *byte == b'\n').count()),
        None => "in the library".to_owned(),
    }
}
