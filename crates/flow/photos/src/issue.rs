//! What a seller is told of a photo that cannot be had.

use fetch::Kind;
use wire::model::{Issue, IssueType, Level};

const MAX_VALUE_CHARS: usize = 200;

/// An issue of this code; the url's secrets are left out.
pub(crate) fn issue(code: &str, url: &str, parameters: Vec<String>) -> Issue {
    Issue {
        level: Level::Error.into(),
        r#type: IssueType::Photo.into(),
        code: code.to_owned(),
        field: "photos".to_owned(),
        value: fetch::shown(url).chars().take(MAX_VALUE_CHARS).collect(),
        parameters,
        ..Issue::default()
    }
}

pub(crate) fn of_fetch(url: &str, error: &fetch::Error, max_bytes: u64) -> Issue {
    let (code, parameters) = match error.kind() {
        Kind::BadUrl => ("bad_url", Vec::new()),
        Kind::ForbiddenAddress => ("photo_address_forbidden", Vec::new()),
        Kind::BadStatus(status) => ("photo_not_found", vec![status.to_string()]),
        Kind::IdleTimeout | Kind::TotalTimeout => ("photo_timeout", Vec::new()),
        Kind::TooLarge => ("photo_too_large", vec![max_bytes.to_string()]),
        Kind::Truncated => ("photo_truncated", Vec::new()),
        Kind::Unreachable | Kind::TooManyRedirects | Kind::Sink | Kind::Options => {
            ("photo_unreachable", Vec::new())
        }
    };
    issue(code, url, parameters)
}
