//! Issues in short.

use model::{Issue, IssueType, Level};

/// The seller's value is shown, not stored: it is cut at so many characters.
const SHOWN: usize = 100;

pub(crate) fn error(code: &str, field: &str, value: &str) -> Issue {
    issue(Level::Error, code, field, value)
}

pub(crate) fn warning(code: &str, field: &str, value: &str) -> Issue {
    issue(Level::Warning, code, field, value)
}

pub(crate) fn with(mut issue: Issue, parameters: &[&str]) -> Issue {
    issue.parameters = parameters.iter().map(|text| shortened(text)).collect();
    issue
}

fn issue(level: Level, code: &str, field: &str, value: &str) -> Issue {
    let kind = match code {
        code if code.starts_with("category_") => IssueType::Category,
        code if code.starts_with("attribute_") => IssueType::Attribute,
        code if code.starts_with("geo_") => IssueType::Geo,
        "duplicate" => IssueType::Duplicate,
        _ => IssueType::Validation,
    };
    Issue {
        level: level.into(),
        r#type: kind.into(),
        code: code.to_owned(),
        field: field.to_owned(),
        value: shortened(value),
        ..Issue::default()
    }
}

pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
