//! Issues for people: as text, CSV and XLSX, in their language.

pub mod csv;
pub mod text;
pub mod xlsx;

use model::{IssueType, Language, message};
use serde::Serialize;

use crate::check::{Finding, level_name};

/// A line of the list of errors, with every word in the reader's language.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub line: u64,
    pub external_id: String,
    pub title: String,
    pub level: &'static str,
    pub r#type: &'static str,
    pub code: String,
    pub field: String,
    pub value: String,
    pub message: String,
    pub suggestion: String,
}

impl Row {
    pub fn of(finding: &Finding, language: Language) -> Self {
        let issue = &finding.issue;
        Self {
            line: finding.line,
            external_id: finding.external_id.clone(),
            title: finding.title.clone(),
            level: level_name(issue.level),
            r#type: type_name(issue.r#type()),
            code: issue.code.clone(),
            field: issue.field.clone(),
            value: issue.value.clone(),
            message: message::render(issue, language),
            suggestion: issue.suggestion.clone(),
        }
    }

    fn cells(&self) -> [&str; 9] {
        [
            &self.external_id,
            &self.title,
            self.level,
            self.r#type,
            &self.field,
            &self.value,
            &self.message,
            &self.suggestion,
            &self.code,
        ]
    }
}

/// The line comes first, then the cells.
fn headings(language: Language) -> [&'static str; 10] {
    match language {
        Language::English => {
            ["Line", "Id", "Title", "Level", "Type", "Field", "Value", "Message", "Suggestion", "Code"]
        }
        Language::Russian => [
            "Строка",
            "Идентификатор",
            "Название",
            "Уровень",
            "Тип",
            "Поле",
            "Значение",
            "Сообщение",
            "Подсказка",
            "Код",
        ],
    }
}

pub fn type_name(kind: IssueType) -> &'static str {
    match kind {
        IssueType::Unspecified | IssueType::Validation => "validation",
        IssueType::Category => "category",
        IssueType::Attribute => "attribute",
        IssueType::Geo => "geo",
        IssueType::Ban => "banned",
        IssueType::Duplicate => "duplicate",
        IssueType::Photo => "photo",
        IssueType::Video => "video",
    }
}
