use std::sync::Arc;
use std::time::Duration;

use super::options::Settings;
use super::outline::Place;
use crate::Format;
use crate::convertors::Convertor;
use crate::extractors::Extractor;
use crate::metrics::Counters;
use crate::validators::Validator;

/// A snippet, a group of snippets, or both, with everything that its options name made ready.
#[derive(Clone)]
pub struct Section {
    /// The absolute name.
    pub name: String,
    /// Whether documents are kept under this name; a group need not be a snippet itself.
    pub is_snippet: bool,
    /// The key prefix; 0 for a mere group.
    pub number: u32,
    /// The absolute names of the sections that are worked on with this one.
    pub recursive: Vec<String>,
    pub settings: Settings,
    pub place: Place,
    pub(crate) work: Option<Arc<Work>>,
    pub(crate) input: Option<Arc<TopicInput>>,
    pub(crate) counters: Counters,
}

/// How a snippet is made and kept.
pub(crate) struct Work {
    pub(crate) service: String,
    pub(crate) output: Format,
    pub(crate) inputs: Vec<Format>,
    pub(crate) languages: Vec<String>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) validators: Vec<Arc<dyn Validator>>,
    pub(crate) convertor: Arc<dyn Convertor>,
    pub(crate) output_schema: Option<Arc<dyn Validator>>,
}

/// Where a section's content comes from, besides HTTP.
pub(crate) struct TopicInput {
    pub(crate) topic: String,
    pub(crate) format: Format,
    /// As it is written, with what it depends on: sections of one topic must agree on it.
    pub(crate) key_text: String,
    pub(crate) key: Arc<dyn Extractor>,
    pub(crate) version: Option<Arc<dyn Extractor>>,
    pub(crate) retries: u32,
}

impl Section {
    /// The formats that a snippet accepts.
    pub fn inputs(&self) -> &[Format] {
        self.work.as_ref().map_or(&[], |work| &work.inputs)
    }
}
