use std::collections::BTreeMap;
use std::fmt;

use super::outline::Place;
use super::text::Written;
use crate::Format;

/// The value of an option, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Flag(bool),
    Number(u32),
    Text(String),
    Format(Format),
    Texts(Vec<String>),
    Formats(Vec<Format>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Format(format) => format.fmt(f),
            Self::Texts(texts) => f.write_str(&list(texts.iter().map(|text| format!("{text:?}")).collect())),
            Self::Formats(formats) => f.write_str(&list(formats.iter().map(Format::to_string).collect())),
        }
    }
}

/// An option in force.
#[derive(Clone, Debug)]
pub struct Setting {
    pub value: Value,
    /// The absolute name of the section that set it; empty for the root.
    pub section: String,
    pub place: Place,
    /// How many names deep that section is.
    depth: usize,
}

/// The options in force for a section, by name.
#[derive(Clone, Debug, Default)]
pub struct Settings(BTreeMap<String, Setting>);

impl Settings {
    /// What a section has in force within another: its own options, and what it inherits.
    pub(super) fn within(&self, section: &str, written: Option<&Written>) -> Self {
        let mut settings = self.clone();
        settings.0.remove("Recursive");
        let depth = if section.is_empty() { 0 } else { section.split('/').count() };
        for (name, value, place) in written.map_or(&[][..], |written| &written.options) {
            let setting = Setting { value: value.clone(), section: section.to_owned(), place: *place, depth };
            settings.0.insert(name.clone(), setting);
        }
        settings
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.0.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.0.get(name)
    }

    /// Where the option was set, else the fallback.
    pub(super) fn place(&self, name: &str, or: Place) -> Place {
        self.get(name).map_or(or, |setting| setting.place)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn number(&self, name: &str) -> u32 {
        match self.get(name).map(|setting| &setting.value) {
            Some(Value::Number(number)) => *number,
            _ => 0,
        }
    }

    /// An empty text is none.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            Value::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A list of one empty text is none.
    pub(super) fn texts(&self, name: &str) -> &[String] {
        match self.get(name).map(|setting| &setting.value) {
            Some(Value::Texts(texts)) if texts.iter().any(|text| !text.is_empty()) => texts,
            _ => &[],
        }
    }

    pub(super) fn format(&self, name: &str) -> Option<Format> {
        match self.get(name)?.value {
            Value::Format(format) => Some(format),
            _ => None,
        }
    }

    /// The accepted formats, as the option says that decides on them.
    pub(super) fn inputs(&self, output: Format) -> Vec<Format> {
        match self.deciding_input().map(|(_, setting)| &setting.value) {
            Some(Value::Formats(formats)) => {
                let mut formats = formats.clone();
                formats.sort_unstable();
                formats.dedup();
                formats
            }
            Some(_) => vec![output],
            None => Vec::new(),
        }
    }

    /// Of `Input` and `InputSameAsOutput` the one that is nearer to the leaf, in one section `Input`.
    pub(super) fn deciding_input(&self) -> Option<(&'static str, &Setting)> {
        let input = self.get("Input").map(|setting| ("Input", setting));
        let same = self.get("InputSameAsOutput").filter(|setting| setting.value == Value::Flag(true));
        match (input, same) {
            (Some((_, input)), Some(same)) if same.depth > input.depth => Some(("InputSameAsOutput", same)),
            (Some(input), _) => Some(input),
            (None, same) => same.map(|same| ("InputSameAsOutput", same)),
        }
    }
}
