use std::sync::Arc;

use super::Validator;
use crate::content::Content;
use crate::convertors::Reader;
use crate::error::{Invalid, Refusal};
use crate::jq::{Program, Threads};
use crate::registry::Making;

/// A jq program whose outputs are what is wrong: texts, or objects with `pointer` and `message`. None: all is well.
pub(crate) struct JqCheck {
    program: Program,
    reader: Reader,
}

impl JqCheck {
    pub(crate) fn load(making: &Making<'_>, threads: &Arc<Threads>) -> Result<Self, String> {
        Ok(Self {
            program: Program::load(making.assets, making.parameter, threads)?,
            reader: Reader::load(making)?,
        })
    }
}

impl Validator for JqCheck {
    fn validate(&self, content: &Content) -> Result<(), Refusal> {
        if !self.reader.reads(content.format) {
            return Ok(());
        }
        let faults = self.program.run(self.reader.json(content)?, &[""], 1)?;
        let Some(fault) = faults.into_iter().flatten().next() else {
            return Ok(());
        };
        let text = |name: &str| fault.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
        let whole = || fault.as_str().map_or_else(|| fault.to_string(), str::to_owned);
        let pointer = text("pointer").unwrap_or_default();
        Err(Invalid { pointer, message: text("message").unwrap_or_else(whole) }.into())
    }
}
