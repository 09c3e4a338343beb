//! Whether what a seller wrote can be published, driven by the catalog. Pure: the same content and catalog, the same
//! issues.
//!
//! [`settle`] first puts what can be meant in only one way into its kept form (an enum's value by its id, a number in
//! the attribute's own unit); [`check`] then tells everything that is wrong, not only the first thing.

mod attributes;
mod fields;

use catalog::Catalog;
use model::limits::MAX_CONTENT_BYTES;
use model::{Content, Issue, IssueType, Level};
use prost::Message as _;

pub use attributes::settle;

use crate::{Error, Result};

/// A wrong value is shown shortened.
const MAX_SHOWN_CHARS: usize = 100;

/// The size limit holds for everything that is kept, drafts too.
pub fn check_size(content: &Content) -> Result<()> {
    let bytes = content.encoded_len();
    if bytes > MAX_CONTENT_BYTES {
        return Err(Error::TooLarge { bytes, most: MAX_CONTENT_BYTES });
    }
    Ok(())
}

/// What holds for everything that is kept, however unfinished: its size, and its numbers.
pub fn check_kept(content: &Content) -> Result<()> {
    check_size(content)?;
    let mut issues = Vec::new();
    fields::numbers(content, &mut issues);
    if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
}

/// Refuses what cannot be published.
pub fn require(catalog: &Catalog, content: &Content) -> Result<()> {
    check_size(content)?;
    let issues = check(catalog, content);
    if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
}

/// Everything that is wrong with the content, in the order of its fields.
pub fn check(catalog: &Catalog, content: &Content) -> Vec<Issue> {
    let mut issues = Vec::new();
    check_category(catalog, content, &mut issues);
    fields::check(content, &mut issues);
    attributes::check(catalog, content, &mut issues);
    issues
}

fn check_category(catalog: &Catalog, content: &Content, issues: &mut Vec<Issue>) {
    let id = content.category_id.as_str();
    let category = |code: &str| Issue {
        r#type: IssueType::Category.into(),
        value: shown(id),
        ..issue("category", code)
    };
    if id.is_empty() {
        issues.push(category("category_missing"));
    } else if catalog.category(id).is_none() {
        match catalog.replaced_by(id).and_then(|id| catalog.category(id)) {
            Some(now) => {
                let name = now.names.en.clone();
                issues.push(Issue {
                    suggestion: now.id.clone(),
                    ..with(category("category_replaced"), [name])
                });
            }
            None => issues.push(category("category_unknown")),
        }
    }
}

fn issue(field: &str, code: &str) -> Issue {
    Issue {
        level: Level::Error.into(),
        r#type: IssueType::Validation.into(),
        code: code.to_owned(),
        field: field.to_owned(),
        ..Issue::default()
    }
}

fn with<const N: usize>(issue: Issue, parameters: [String; N]) -> Issue {
    Issue { parameters: parameters.into(), ..issue }
}

fn with_value(issue: Issue, value: &str) -> Issue {
    Issue { value: shown(value), ..issue }
}

/// A value as it may be repeated to whoever wrote it.
fn shown(value: &str) -> String {
    match value.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}
