//! The text format: a statement per line, indented lines belong to the block above.
//!
//! Reading never stops at a mistake: each one is a problem with its line, and the rest is read on.

use std::path::Path;

use crate::error::Problem;
use crate::load::{MAP_EXTENSION, SourceFile};

mod map;
mod statements;

pub(crate) use map::ForeignDraft;

/// Everything that the files say, of all versions, not checked yet.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) version: u32,
    pub(crate) categories: Vec<CategoryDraft>,
    pub(crate) attributes: Vec<AttributeDraft>,
    pub(crate) measures: Vec<MeasureDraft>,
    pub(crate) foreign: Vec<ForeignDraft>,
}

/// Where a statement stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) file: String,
    pub(crate) line: usize,
}

impl At {
    pub(crate) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { file: self.file.clone(), line: self.line, message: message.into() }
    }
}

/// The versions that a statement holds in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) since: Option<u32>,
    pub(crate) until: Option<u32>,
}

impl Versions {
    pub(crate) fn holds_in(self, version: u32) -> bool {
        self.since.is_none_or(|since| since <= version) && self.until.is_none_or(|until| version <= until)
    }

    pub(crate) fn ended_before(self, version: u32) -> bool {
        self.until.is_some_and(|until| until < version)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Statement<T> {
    pub(crate) at: At,
    pub(crate) versions: Versions,
    pub(crate) says: T,
}

/// A name and its synonyms in one language.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) synonyms: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Wording {
    pub(crate) ru: Vec<Statement<Named>>,
    pub(crate) en: Vec<Statement<Named>>,
}

#[derive(Debug, Default)]
pub(crate) struct CategoryDraft {
    pub(crate) at: At,
    pub(crate) versions: Versions,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) wording: Wording,
    /// The attribute's id and whether it is required.
    pub(crate) has: Vec<Statement<(String, bool)>>,
    /// Attributes by which like offers are told from others.
    pub(crate) keys: Vec<Statement<String>>,
    pub(crate) now: Option<Statement<String>>,
}

#[derive(Debug)]
pub(crate) enum KindDraft {
    Enum,
    Brands,
    Number { measure: Option<String>, min: Option<f64>, max: Option<f64> },
    Text { max_chars: usize },
    Bool,
}

#[derive(Debug)]
pub(crate) struct AttributeDraft {
    pub(crate) at: At,
    pub(crate) versions: Versions,
    pub(crate) id: String,
    pub(crate) kind: KindDraft,
    pub(crate) wording: Wording,
    pub(crate) required: bool,
    pub(crate) values: Vec<Statement<ValueDraft>>,
    pub(crate) means: Option<Statement<String>>,
    pub(crate) ssku: Option<(String, Option<String>)>,
    pub(crate) now: Option<Statement<String>>,
}

#[derive(Clone, Debug)]
pub(crate) struct ValueDraft {
    pub(crate) id: String,
    pub(crate) ru: Named,
    pub(crate) en: Named,
}

#[derive(Debug)]
pub(crate) struct MeasureDraft {
    pub(crate) at: At,
    pub(crate) id: String,
    pub(crate) units: Vec<(Vec<String>, f64)>,
}

#[derive(Clone, Copy)]
enum Block {
    Category,
    Attribute,
    Measure,
}

pub(crate) fn parse(files: &[SourceFile]) -> (Draft, Vec<Problem>) {
    let mut draft = Draft { version: 1, ..Draft::default() };
    let mut problems = Vec::new();
    let (maps, files): (Vec<&SourceFile>, Vec<&SourceFile>) = files
        .iter()
        .partition(|file| Path::new(&file.name).extension().is_some_and(|end| end == MAP_EXTENSION));
    for (at, line) in maps.into_iter().flat_map(lines) {
        if let Err(message) = map::line(&mut draft, &at, line.trim()) {
            problems.push(at.problem(message));
        }
    }
    for file in files {
        // A line below a block that could not be read is not blamed for having no block.
        let mut block: Option<Option<Block>> = None;
        for (at, line) in lines(file) {
            let indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            let done =
                if indented { within(&mut draft, block, &at, line) } else { open(&mut draft, &at, line) };
            match done {
                Ok(opened) if !indented => block = opened.map(Some),
                Ok(_) => {}
                Err(message) => {
                    if !indented {
                        block = Some(None);
                    }
                    problems.push(at.problem(message));
                }
            }
        }
    }
    (draft, problems)
}

/// The lines that say anything.
fn lines(file: &SourceFile) -> impl Iterator<Item = (At, &str)> {
    let all = file.text.lines().enumerate();
    let telling = all.filter(|(_, line)| !line.trim().is_empty() && !line.trim().starts_with('#'));
    telling.map(|(number, line)| (At { file: file.name.clone(), line: number + 1 }, line))
}

fn open(draft: &mut Draft, at: &At, line: &str) -> Result<Option<Block>, String> {
    let (versions, line) = statements::versions(line)?;
    let (word, rest) = statements::first_word(line);
    match word {
        "version" => {
            draft.version = rest.parse().ok().filter(|version| *version > 0).ok_or_else(|| {
                format!("`{rest}` is not the number of a version; write for example: version 2")
            })?;
            Ok(None)
        }
        "category" => {
            draft.categories.push(statements::category(at, versions, rest)?);
            Ok(Some(Block::Category))
        }
        "attribute" => {
            draft.attributes.push(statements::attribute(at, versions, rest)?);
            Ok(Some(Block::Attribute))
        }
        "measure" => {
            let id = statements::id(rest)?;
            draft.measures.push(MeasureDraft { at: at.clone(), id, units: Vec::new() });
            Ok(Some(Block::Measure))
        }
        other => Err(format!(
            "`{other}` begins nothing; a block begins with category, attribute or measure, and its lines are indented"
        )),
    }
}

fn within(
    draft: &mut Draft,
    block: Option<Option<Block>>,
    at: &At,
    line: &str,
) -> Result<Option<Block>, String> {
    let (versions, line) = statements::versions(line)?;
    let (word, rest) = statements::first_word(line);
    let inside = match block {
        None => return Err("an indented line must stand below a category, attribute or measure".into()),
        Some(None) => return Ok(None),
        Some(Some(block)) => block,
    };
    let known = "parsing opened this block";
    match inside {
        Block::Category => {
            let category = draft.categories.last_mut().expect(known);
            statements::in_category(category, at, versions, word, rest)?;
        }
        Block::Attribute => {
            let attribute = draft.attributes.last_mut().expect(known);
            statements::in_attribute(attribute, at, versions, word, rest)?;
        }
        Block::Measure => {
            let measure = draft.measures.last_mut().expect(known);
            statements::in_measure(measure, word, rest)?;
        }
    }
    Ok(None)
}
