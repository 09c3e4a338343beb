//! From the options of a section to what works.

use std::sync::Arc;
use std::time::Duration;

use super::Section;
use super::assets::Assets;
use super::options::Settings;
use super::outline::Place;
use super::section::Work;
use super::tree::{Node, join};
use crate::Format;
use crate::convertors::{Convertor, Identity, Protobuf};
use crate::error::ConfigError;
use crate::metrics::Counters;
use crate::registry::{Making, Registry};
use crate::validators::{JsonSchema, Strictness, Validator};

pub(super) const USUAL_SERVICE: &str = "main";

pub(super) struct Maker<'a> {
    pub(super) assets: Arc<Assets>,
    pub(super) registry: &'a Registry,
}

impl Maker<'_> {
    pub(super) fn section(
        &self,
        name: &str,
        node: &Node<'_>,
        settings: Settings,
        place: Place,
    ) -> Result<Section, ConfigError> {
        // A section that only a name with slashes asks for is a group and nothing else.
        let children_only = node.written.is_none() || settings.flag("ChildrenOnly").unwrap_or(true);
        let is_snippet = node.children.is_empty() || !children_only;
        let recursive = recursive(name, node, &settings, place)?;
        let work = if is_snippet { Some(Arc::new(self.work(name, &settings, place)?)) } else { None };
        let writes = is_snippet || !recursive.is_empty();
        let input = if writes { self.topic_input(name, &settings, place)? } else { None };
        let input = input.map(Arc::new);
        let (name, counters) = (name.to_owned(), Counters::default());
        Ok(Section { name, is_snippet, number: 0, recursive, settings, place, work, input, counters })
    }

    fn work(&self, name: &str, settings: &Settings, place: Place) -> Result<Work, ConfigError> {
        let output = settings
            .format("Output")
            .ok_or_else(|| ConfigError::at(place, format!("snippet {name} has no Output")))?;
        let inputs = settings.inputs(output);
        if inputs.is_empty() {
            return Err(ConfigError::at(
                place,
                format!("snippet {name} has neither Input nor InputSameAsOutput"),
            ));
        }
        let languages = settings.texts("OutputLanguages").to_vec();
        let convertor = self.fitting_convertor(name, settings, place, &inputs, output, &languages)?;
        let minutes = settings.number("TtlMinutes");
        Ok(Work {
            service: settings.text("Service").unwrap_or(USUAL_SERVICE).to_owned(),
            output,
            inputs,
            languages,
            ttl: (minutes > 0).then(|| Duration::from_secs(u64::from(minutes) * 60)),
            validators: self.validators(name, settings, place)?,
            output_schema: self.schema(name, "OutputJsonSchema", settings, place)?,
            convertor,
        })
    }

    /// The snippet's convertor, which must make its output of all its inputs, in all its languages.
    fn fitting_convertor(
        &self,
        name: &str,
        settings: &Settings,
        place: Place,
        inputs: &[Format],
        output: Format,
        languages: &[String],
    ) -> Result<Arc<dyn Convertor>, ConfigError> {
        let refuse = |option: &str, message: String| ConfigError::at(settings.place(option, place), message);
        let convertor = match settings.text("SpecialConvertor") {
            Some(special) => self.convertor(name, special, settings, place)?,
            None => self.keeper(name, settings, place, output)?,
        };
        let wants_one = inputs != [output] || !languages.is_empty();
        if wants_one && settings.text("SpecialConvertor").is_none() {
            let option = if languages.is_empty() { "Input" } else { "OutputLanguages" };
            return Err(refuse(
                option,
                format!(
                    "snippet {name} needs a SpecialConvertor: it takes {} and gives {output}{}",
                    names(inputs),
                    if languages.is_empty() {
                        String::new()
                    } else {
                        format!(" in {}", languages.join(", "))
                    }
                ),
            ));
        }
        let special = settings.text("SpecialConvertor").unwrap_or_default();
        for input in inputs {
            if !convertor.supports(*input, output) {
                return Err(refuse(
                    "SpecialConvertor",
                    format!("convertor {special:?} of {name} does not make {output} of {input}"),
                ));
            }
        }
        if let Some(language) = languages.iter().find(|language| !convertor.speaks(language)) {
            return Err(refuse(
                "SpecialConvertor",
                format!("convertor {special:?} of {name} does not support the language {language}"),
            ));
        }
        Ok(convertor)
    }

    fn validators(
        &self,
        name: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Vec<Arc<dyn Validator>>, ConfigError> {
        let mut validators: Vec<_> =
            self.schema(name, "InputJsonSchema", settings, place)?.into_iter().collect();
        if let Some(special) = settings.text("SpecialValidator") {
            validators.push(self.validator(name, special, settings, place)?);
        }
        Ok(validators)
    }

    pub(super) fn validator(
        &self,
        name: &str,
        special: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Arc<dyn Validator>, ConfigError> {
        self.registry.validator(special, &self.making(settings)).map_err(|reason| {
            ConfigError::at(
                settings.place("SpecialValidator", place),
                format!("validator {special:?} of {name}: {reason}"),
            )
        })
    }

    pub(super) fn schema(
        &self,
        name: &str,
        option: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Option<Arc<dyn Validator>>, ConfigError> {
        let Some(file) = settings.text(option) else { return Ok(None) };
        let strictness = if settings.flag("StrictSchema") == Some(true) {
            Strictness::Refused
        } else {
            Strictness::Allowed
        };
        match JsonSchema::load(&self.assets, file, strictness) {
            Ok(schema) => Ok(Some(Arc::new(schema))),
            Err(reason) => Err(ConfigError::at(
                settings.place(option, place),
                format!("{option} {file:?} of {name}: {reason}"),
            )),
        }
    }

    pub(super) fn convertor(
        &self,
        name: &str,
        special: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Arc<dyn Convertor>, ConfigError> {
        self.registry.convertor(special, &self.making(settings)).map_err(|reason| {
            ConfigError::at(
                settings.place("SpecialConvertor", place),
                format!("convertor {special:?} of {name}: {reason}"),
            )
        })
    }

    /// What keeps content as it is. Protobuf whose message is known must be that message.
    fn keeper(
        &self,
        name: &str,
        settings: &Settings,
        place: Place,
        output: Format,
    ) -> Result<Arc<dyn Convertor>, ConfigError> {
        let option = if settings.text("InputMessage").is_some() { "InputMessage" } else { "OutputMessage" };
        let Some(message) = settings.text(option).filter(|_| output == Format::Pb) else {
            return Ok(Arc::new(Identity));
        };
        let making = Making { input_message: Some(message), output_message: None, ..self.making(settings) };
        match Protobuf::load(&making) {
            Ok(convertor) => Ok(Arc::new(convertor)),
            Err(reason) => Err(ConfigError::at(
                settings.place(option, place),
                format!("{option} {message:?} of {name}: {reason}"),
            )),
        }
    }

    pub(super) fn making<'s>(&'s self, settings: &'s Settings) -> Making<'s> {
        Making {
            parameter: "",
            assets: &self.assets,
            descriptor_set: settings.text("DescriptorSet"),
            input_message: settings.text("InputMessage"),
            output_message: settings.text("OutputMessage"),
        }
    }
}

/// The sections that `Recursive` names, which must be there.
pub(super) fn recursive(
    name: &str,
    node: &Node<'_>,
    settings: &Settings,
    place: Place,
) -> Result<Vec<String>, ConfigError> {
    let mut recursive = Vec::new();
    for child in settings.texts("Recursive") {
        let absolute = join(name, child);
        if find(node, child).is_none() {
            let name = if name.is_empty() { "the root" } else { name };
            return Err(ConfigError::at(
                settings.place("Recursive", place),
                format!("Recursive of {name} names {child:?}, but there is no section {absolute}"),
            ));
        }
        recursive.push(absolute);
    }
    Ok(recursive)
}

fn find<'n, 'a>(node: &'n Node<'a>, path: &str) -> Option<&'n Node<'a>> {
    path.split('/').try_fold(node, |node, segment| node.children.get(segment))
}

fn names(formats: &[Format]) -> String {
    formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}
