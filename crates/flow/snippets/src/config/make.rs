//! From the options of a section to what works.

use std::sync::Arc;
use std::time::Duration;

use super::Section;
use super::assets::Assets;
use super::options::Settings;
use super::outline::Place;
use super::section::{TopicInput, Work};
use super::tree::{Node, join};
use crate::Format;
use crate::address::is_language;
use crate::convertors::{Convertor, Identity};
use crate::error::ConfigError;
use crate::metrics::Counters;
use crate::registry::{Making, Registry};
use crate::validators::{JsonSchema, Validator};

const USUAL_SERVICE: &str = "main";

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
        let mut recursive = Vec::new();
        for child in settings.texts("Recursive") {
            let absolute = join(name, child);
            if find(node, child).is_none() {
                return Err(ConfigError::at(
                    settings.place("Recursive", place),
                    format!("Recursive of {name} names {child:?}, but there is no section {absolute}"),
                ));
            }
            recursive.push(absolute);
        }
        let work = if is_snippet { Some(Arc::new(self.work(name, &settings, place)?)) } else { None };
        let writes = is_snippet || !recursive.is_empty();
        let input = if writes { self.topic_input(name, &settings, place)? } else { None };
        let input = input.map(Arc::new);
        let (name, counters) = (name.to_owned(), Counters::default());
        Ok(Section { name, is_snippet, number: 0, recursive, settings, place, work, input, counters })
    }

    fn work(&self, name: &str, settings: &Settings, place: Place) -> Result<Work, ConfigError> {
        let refuse = |option: &str, message: String| ConfigError::at(settings.place(option, place), message);
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
        if let Some(language) = languages.iter().find(|language| !is_language(language)) {
            return Err(refuse(
                "OutputLanguages",
                format!("{language:?} of {name} is not a language such as ru or pt-BR"),
            ));
        }
        let service = settings.text("Service").unwrap_or(USUAL_SERVICE).to_owned();
        if service.len() > 64 || service.contains('\0') {
            return Err(refuse("Service", format!("{service:?} is not a name of a service")));
        }
        let convertor = self.fitting_convertor(name, settings, place, &inputs, output, &languages)?;
        let minutes = settings.number("TtlMinutes");
        Ok(Work {
            service,
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
        let convertor = self.convertor(name, settings, place)?;
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
            let made = self.registry.validator(special, &self.making(settings));
            validators.push(made.map_err(|reason| {
                ConfigError::at(
                    settings.place("SpecialValidator", place),
                    format!("validator {special:?} of {name}: {reason}"),
                )
            })?);
        }
        Ok(validators)
    }

    fn schema(
        &self,
        name: &str,
        option: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Option<Arc<dyn Validator>>, ConfigError> {
        let Some(file) = settings.text(option) else { return Ok(None) };
        match JsonSchema::load(&self.assets, file) {
            Ok(schema) => Ok(Some(Arc::new(schema))),
            Err(reason) => Err(ConfigError::at(
                settings.place(option, place),
                format!("{option} {file:?} of {name}: {reason}"),
            )),
        }
    }

    fn convertor(
        &self,
        name: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Arc<dyn Convertor>, ConfigError> {
        let Some(special) = settings.text("SpecialConvertor") else { return Ok(Arc::new(Identity)) };
        self.registry.convertor(special, &self.making(settings)).map_err(|reason| {
            ConfigError::at(
                settings.place("SpecialConvertor", place),
                format!("convertor {special:?} of {name}: {reason}"),
            )
        })
    }

    fn topic_input(
        &self,
        name: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Option<TopicInput>, ConfigError> {
        let Some(topic) = settings.text("InputTopic") else { return Ok(None) };
        let refuse = |option: &str, message: String| ConfigError::at(settings.place(option, place), message);
        let format = settings.format("InputForLB").ok_or_else(|| {
            refuse("InputTopic", format!("{name} reads topic {topic:?}, so it needs InputForLB"))
        })?;
        let key_text = settings.text("KeyExtractor").ok_or_else(|| {
            refuse("InputTopic", format!("{name} reads topic {topic:?}, so it needs a KeyExtractor"))
        })?;
        let making = self.making(settings);
        let extractor = |option: &str, text: &str| {
            self.registry
                .extractor(text, &making)
                .map_err(|reason| refuse(option, format!("extractor {text:?} of {name}: {reason}")))
        };
        let version = settings.text("VersionExtractor");
        Ok(Some(TopicInput {
            topic: topic.to_owned(),
            format,
            key: extractor("KeyExtractor", key_text)?,
            version: version.map(|text| extractor("VersionExtractor", text)).transpose()?,
            key_text: format!(
                "{key_text} {:?} {:?}",
                settings.text("DescriptorSet"),
                settings.text("InputMessage")
            ),
            retries: settings.number("UploadOverLBRetryCount"),
        }))
    }

    fn making<'s>(&'s self, settings: &'s Settings) -> Making<'s> {
        Making {
            parameter: "",
            assets: &self.assets,
            descriptor_set: settings.text("DescriptorSet"),
            input_message: settings.text("InputMessage"),
            output_message: settings.text("OutputMessage"),
        }
    }
}

fn find<'n, 'a>(node: &'n Node<'a>, path: &str) -> Option<&'n Node<'a>> {
    path.split('/').try_fold(node, |node, segment| node.children.get(segment))
}

fn names(formats: &[Format]) -> String {
    formats.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}
