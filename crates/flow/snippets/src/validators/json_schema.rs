use std::sync::Arc;

use jsonschema::{Draft, Retrieve, Uri};
use serde_json::Value;

use super::{Validator, draft03, keywords};
use crate::Format;
use crate::config::Assets;
use crate::content::Content;
use crate::error::{Invalid, Refusal};

/// Files of a schema name each other under this address.
const BASE: &str = "snippets:///";

/// JSON Schema: draft-04 and newer; draft-03 is translated when it is read.
pub(crate) struct JsonSchema {
    validator: jsonschema::Validator,
}

impl JsonSchema {
    pub(crate) fn load(assets: &Arc<Assets>, file: &str) -> Result<Self, String> {
        let (schema, draft) = read(assets, file)?;
        let built = jsonschema::options()
            .with_draft(draft)
            .with_base_uri(format!("{BASE}{file}"))
            .with_retriever(Files(assets.clone()))
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .build(&schema);
        Ok(Self { validator: built.map_err(|error| error.to_string())? })
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

/// The validator repeats the value, which may be large.
fn shortened(message: &str) -> String {
    const MOST_CHARS: usize = 500;
    let count = message.chars().count();
    if count <= MOST_CHARS {
        return message.to_owned();
    }
    let head: String = message.chars().take(MOST_CHARS / 2).collect();
    let tail: String = message.chars().skip(count - MOST_CHARS / 2).collect();
    format!("{head} … {tail}")
}

fn read(assets: &Assets, file: &str) -> Result<(Value, Draft), String> {
    let schema: Value =
        serde_json::from_slice(&assets.read(file)?).map_err(|error| format!("this is not JSON: {error}"))?;
    let declared = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let known = [
        ("", Draft::Draft4),
        ("draft-03/", Draft::Draft4),
        ("draft-04/", Draft::Draft4),
        ("draft-06/", Draft::Draft6),
        ("draft-07/", Draft::Draft7),
        ("draft/2019-09/", Draft::Draft201909),
        ("draft/2020-12/", Draft::Draft202012),
    ];
    let fits = |name: &str| if name.is_empty() { declared.is_empty() } else { declared.contains(name) };
    let Some((name, draft)) = known.into_iter().find(|(name, _)| fits(name)) else {
        return Err(format!("$schema {declared:?} is none of the drafts 03, 04, 06, 07, 2019-09, 2020-12"));
    };
    let schema = if name == "draft-03/" { draft03::translate(schema)? } else { schema };
    keywords::check(&schema, draft)?;
    Ok((schema, draft))
}

struct Files(Arc<Assets>);

impl Retrieve for Files {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let text = uri.as_str();
        let file = text
            .strip_prefix(BASE)
            .ok_or_else(|| format!("{text} is not a file beside the configuration"))?;
        Ok(read(&self.0, file)?.0)
    }
}
