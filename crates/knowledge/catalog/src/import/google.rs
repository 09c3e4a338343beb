//! Google's product taxonomy: a line per category with its whole path, with or without a number in front.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::{Read, read_text};
use crate::error::Error;
use crate::model::Names;
use crate::write::{WrittenCategory, slug};

struct Line {
    number: usize,
    id: Option<String>,
    path: Vec<String>,
}

pub(super) fn read(one: &Path, two: Option<&Path>) -> Result<Read, Error> {
    let first = lines(one)?;
    let second = two.map(lines).transpose()?;
    let other = second.as_ref().map(|lines| pair(lines, two.unwrap_or(one))).transpose()?;
    let mut ids: FxHashMap<&[String], String> = FxHashMap::default();
    let mut categories = Vec::new();
    for line in &first {
        let wrong = |message: String| Error::Import(format!("{}:{}: {message}", one.display(), line.number));
        let name = line.path.last().cloned().unwrap_or_default();
        let id = line.id.clone().unwrap_or_else(|| slug(&line.path.join(" ")));
        let above = &line.path[..line.path.len() - 1];
        let parent = match above {
            [] => None,
            above => Some(ids.get(above).cloned().ok_or_else(|| {
                wrong(format!("the category above, `{}`, has no line before this one", above.join(" > ")))
            })?),
        };
        let translated = match &other {
            None => name.clone(),
            Some(names) => names
                .get(id.as_str())
                .map(|name| (*name).to_owned())
                .ok_or_else(|| wrong(format!("the other file has no category {id}")))?,
        };
        let (ru, en) = if is_russian(&name) { (name, translated) } else { (translated, name) };
        ids.insert(&line.path, id.clone());
        categories.push(WrittenCategory { id, parent, names: Names { ru, en }, attributes: Vec::new() });
    }
    if categories.is_empty() {
        return Err(Error::Import(format!("{} holds no categories", one.display())));
    }
    Ok(Read { categories, attributes: Vec::new(), one_language: two.is_none() })
}

/// Two files are put together by the numbers of their categories.
fn pair<'a>(lines: &'a [Line], file: &Path) -> Result<FxHashMap<&'a str, &'a str>, Error> {
    let numbered = |line: &'a Line| Some((line.id.as_deref()?, line.path.last()?.as_str()));
    lines.iter().map(numbered).collect::<Option<_>>().ok_or_else(|| {
        Error::Import(format!(
            "{} has categories without numbers, so two languages cannot be paired",
            file.display()
        ))
    })
}

fn lines(file: &Path) -> Result<Vec<Line>, Error> {
    let text = read_text(file)?;
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let numbered = line.split_once(" - ").filter(|(id, _)| id.bytes().all(|byte| byte.is_ascii_digit()));
        let (id, path) = numbered.map_or((None, line), |(id, path)| (Some(id.to_owned()), path));
        let path: Vec<String> = path.split('>').map(|name| name.trim().to_owned()).collect();
        if path.iter().any(String::is_empty) {
            return Err(Error::Import(format!(
                "{}:{}: a name in `{line}` is empty",
                file.display(),
                number + 1
            )));
        }
        found.push(Line { number: number + 1, id, path });
    }
    Ok(found)
}

fn is_russian(name: &str) -> bool {
    words::fold(name).chars().any(|c| ('а'..='я').contains(&c))
}
