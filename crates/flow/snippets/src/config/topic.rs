//! Where a section's messages come from, and where the key is in them.

use std::sync::Arc;

use super::make::Maker;
use super::options::Settings;
use super::outline::Place;
use super::section::TopicInput;
use crate::error::ConfigError;
use crate::extractors::Extractor;

impl Maker<'_> {
    pub(super) fn topic_input(
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
        let extractor = |option: &str, text: &str| {
            let made = self.extractor(name, option, text, settings, place)?;
            if made.reads(format) {
                return Ok(made);
            }
            let message =
                format!("extractor {text:?} of {name} does not read {format}, which InputForLB says");
            Err(refuse(option, message))
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

    pub(super) fn extractor(
        &self,
        name: &str,
        option: &str,
        text: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<Arc<dyn Extractor>, ConfigError> {
        self.registry.extractor(text, &self.making(settings)).map_err(|reason| {
            ConfigError::at(settings.place(option, place), format!("extractor {text:?} of {name}: {reason}"))
        })
    }
}
