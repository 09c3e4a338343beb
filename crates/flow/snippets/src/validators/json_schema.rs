use std::sync::Arc;

use super::Validator;
use super::schema_errors::{shortened, words};
use super::schema_files::{Files, Strictness, address, read};
use crate::Format;
use crate::config::Assets;
use crate::content::Content;
use crate::error::{Invalid, Refusal};

/// JSON Schema: draft-04 and newer; draft-03 is translated when it is read.
pub(crate) struct JsonSchema {
    validator: jsonschema::Validator,
}

impl JsonSchema {
    pub(crate) fn load(assets: &Arc<Assets>, file: &str, strictness: Strictness) -> Result<Self, String> {
        let schema = read(assets, file, strictness)?;
        let built = jsonschema::options()
            .with_base_uri(address(file))
            .with_retriever(Files(assets.clone(), strictness))
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .build(&schema);
        Ok(Self { validator: built.map_err(|error| words(&error, &schema))? })
    }
}

impl Validator for JsonSchema {
    fn validate(&self, content: &Content) -> Result<(), Refusal> {
        if content.format != Format::Json {
            return Ok(());
        }
        self.validator.validate(content.json()?).map_err(|error| {
            let pointer = error.instance_path().to_string();
            Invalid { pointer, message: shortened(&error.to_string()) }.into()
        })
    }
}
