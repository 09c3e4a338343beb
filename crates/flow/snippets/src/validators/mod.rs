//! What content must be like. A validator is made once, when the configuration is read.

mod draft03;
mod drafts;
mod jq_check;
mod json_schema;
mod keywords;
mod schema_errors;
mod schema_files;

use crate::content::Content;
use crate::error::{Invalid, Refusal};

pub(crate) use jq_check::JqCheck;
pub(crate) use json_schema::JsonSchema;
pub(crate) use schema_files::Strictness;

/// Looks at content before it is converted.
pub trait Validator: Send + Sync {
    /// Called with content of any format that the snippet accepts; says nothing about formats it does not know.
    fn validate(&self, content: &Content) -> Result<(), Refusal>;
}

/// Content has at least one byte.
pub(crate) struct NotEmpty;

impl Validator for NotEmpty {
    fn validate(&self, content: &Content) -> Result<(), Refusal> {
        if content.bytes.is_empty() { Err(Invalid::new("there is no content").into()) } else { Ok(()) }
    }
}
