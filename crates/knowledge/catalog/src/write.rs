//! The text format, written: what `import` makes.

use std::fmt::Write as _;
use std::path::Path;

use crate::error::Error;
use crate::load::EXTENSION;
use crate::model::Names;

#[derive(Debug, Default)]
pub(crate) struct WrittenCategory {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) names: Names,
    pub(crate) attributes: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct WrittenAttribute {
    pub(crate) id: String,
    pub(crate) names: Names,
    /// Ids and names; an attribute without them is a text.
    pub(crate) values: Vec<(String, Names)>,
}

pub(crate) fn category(text: &mut String, category: &WrittenCategory) {
    let parent = category.parent.as_ref().map(|parent| format!(" < {parent}")).unwrap_or_default();
    let _ = writeln!(text, "category {}{parent}", category.id);
    names(text, &category.names);
    if !category.attributes.is_empty() {
        let _ = writeln!(text, "  has {}", category.attributes.join(", "));
    }
    text.push('\n');
}

pub(crate) fn attribute(text: &mut String, attribute: &WrittenAttribute) {
    let kind = if attribute.values.is_empty() { "text" } else { "enum" };
    let _ = writeln!(text, "attribute {} {kind}", attribute.id);
    names(text, &attribute.names);
    for (id, names) in &attribute.values {
        // A comma would begin a synonym.
        let [ru, en] = [&names.ru, &names.en].map(|name| plain(name).replace(',', " "));
        let _ = writeln!(text, "  value {id} {ru} | {en}");
    }
    text.push('\n');
}

fn names(text: &mut String, names: &Names) {
    let _ = writeln!(text, "  ru {}\n  en {}", plain(&names.ru), plain(&names.en));
}

/// Without the sign that begins the synonyms.
fn plain(name: &str) -> String {
    name.replace('|', "/").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A word or path as an id.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' | '_' | '.' => slug.push(c),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_end_matches('-').to_owned()
}

pub(crate) fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(format!("{name}.{EXTENSION}"));
    std::fs::write(&path, text).map_err(|source| Error::Write { path: path.display().to_string(), source })
}
