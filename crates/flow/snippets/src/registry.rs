//! The names that a configuration can use for validators, convertors and extractors. **This is the place to add one:**
//! a line in [`Registry::shipped`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Assets;
use crate::convertors::{Convertor, Jq, OfferCards, Protobuf};
use crate::extractors::{Extractor, HeaderValue, JsonPointer, MessageKey, ProtobufField};
use crate::jq::Threads;
use crate::validators::{JqCheck, NotEmpty, Validator};

/// What a maker may use.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// What stands behind the colon in `jq:card.jq`.
    pub parameter: &'a str,
    pub assets: &'a Arc<Assets>,
    pub descriptor_set: Option<&'a str>,
    pub input_message: Option<&'a str>,
    pub output_message: Option<&'a str>,
}

type Made<T> = Result<Arc<T>, String>;
type Maker<T> = Box<dyn Fn(&Making<'_>) -> Made<T> + Send + Sync>;

/// Makers by name. Everything is made once, when a configuration is read.
pub struct Registry {
    validators: BTreeMap<&'static str, Maker<dyn Validator>>,
    convertors: BTreeMap<&'static str, Maker<dyn Convertor>>,
    extractors: BTreeMap<&'static str, Maker<dyn Extractor>>,
}

impl Registry {
    /// What comes with Dvor.
    #[must_use]
    pub fn shipped() -> Self {
        let threads = Arc::new(Threads::default());
        let jq = threads.clone();
        Self { validators: BTreeMap::new(), convertors: BTreeMap::new(), extractors: BTreeMap::new() }
            .with_validator("not_empty", |making| alone(making).map(|()| Arc::new(NotEmpty) as _))
            .with_validator("jq", move |making| Ok(Arc::new(JqCheck::load(making, &threads)?)))
            .with_convertor("pb", |making| {
                alone(making)?;
                Ok(Arc::new(Protobuf::load(making)?))
            })
            .with_convertor("jq", move |making| Ok(Arc::new(Jq::load(making, &jq)?)))
            .with_convertor("offer_card", |making| alone(making).map(|()| Arc::new(OfferCards) as _))
            .with_extractor("key", |making| alone(making).map(|()| Arc::new(MessageKey) as _))
            .with_extractor("json", |making| Ok(Arc::new(JsonPointer::new(making.parameter)?)))
            .with_extractor("pb", |making| Ok(Arc::new(ProtobufField::load(making)?)))
            .with_extractor("header", |making| Ok(Arc::new(HeaderValue::new(making.parameter)?)))
    }

    #[must_use]
    pub fn with_validator(
        mut self,
        name: &'static str,
        maker: impl Fn(&Making<'_>) -> Made<dyn Validator> + Send + Sync + 'static,
    ) -> Self {
        self.validators.insert(name, Box::new(maker));
        self
    }

    #[must_use]
    pub fn with_convertor(
        mut self,
        name: &'static str,
        maker: impl Fn(&Making<'_>) -> Made<dyn Convertor> + Send + Sync + 'static,
    ) -> Self {
        self.convertors.insert(name, Box::new(maker));
        self
    }

    #[must_use]
    pub fn with_extractor(
        mut self,
        name: &'static str,
        maker: impl Fn(&Making<'_>) -> Made<dyn Extractor> + Send + Sync + 'static,
    ) -> Self {
        self.extractors.insert(name, Box::new(maker));
        self
    }

    pub(crate) fn validator(&self, text: &str, making: &Making<'_>) -> Made<dyn Validator> {
        make(&self.validators, text, making)
    }

    pub(crate) fn convertor(&self, text: &str, making: &Making<'_>) -> Made<dyn Convertor> {
        make(&self.convertors, text, making)
    }

    pub(crate) fn extractor(&self, text: &str, making: &Making<'_>) -> Made<dyn Extractor> {
        make(&self.extractors, text, making)
    }
}

/// Refuses a parameter of what takes none.
fn alone(making: &Making<'_>) -> Result<(), String> {
    match making.parameter {
        "" => Ok(()),
        parameter => Err(format!("it takes nothing behind a colon, not {parameter:?}")),
    }
}

fn make<T: ?Sized>(makers: &BTreeMap<&str, Maker<T>>, text: &str, making: &Making<'_>) -> Made<T> {
    let (name, parameter) = text.split_once(':').unwrap_or((text, ""));
    match makers.get(name) {
        Some(maker) => maker(&Making { parameter, ..*making }),
        None => {
            let known: Vec<_> = makers.keys().copied().collect();
            Err(format!("there is none of this name; there is {}", known.join(", ")))
        }
    }
}
