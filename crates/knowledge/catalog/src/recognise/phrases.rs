//! The phrases that mean a category, and the brand names that do not.

use daachorse::{CharwiseDoubleArrayAhoCorasick, CharwiseDoubleArrayAhoCorasickBuilder, MatchKind};
use rustc_hash::FxHashMap;

use super::lexicon::{Lexicon, Reading};
use crate::model::{AttributeKind, Catalog};

/// What a phrase means.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    /// Categories, and how strongly each is meant.
    pub(super) categories: Vec<(u32, f32)>,
    pub(super) brand: bool,
    /// A value that means a category when nothing else does.
    pub(super) implied: Option<u32>,
}

pub(super) struct Phrases {
    /// None when no phrase is known.
    automaton: Option<CharwiseDoubleArrayAhoCorasick<u32>>,
    meanings: Vec<Meaning>,
}

pub(super) struct Match<'a> {
    /// Tokens from `start` to before `end`.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) meaning: &'a Meaning,
}

/// A name that lists several things («Кабели и переходники») means each of them a little less.
const PART: f32 = 0.8;

/// Two Russian words mean the same in either order: «письменный стол», «стол письменный».
const TURNED: f32 = 0.95;

impl Phrases {
    pub(super) fn build(catalog: &Catalog, lexicon: &mut Lexicon) -> Self {
        let mut rows: FxHashMap<String, Meaning> = FxHashMap::default();
        for (index, category) in catalog.categories().iter().enumerate() {
            let index = index as u32;
            for name in [&category.names.ru, &category.names.en] {
                mean(&mut rows, lexicon, name, index, 1.0);
                let parts: Vec<&str> = parts(name).collect();
                // A single word of a list is too little: «кухня» of «Посуда и кухня» is no crockery.
                let several = |part: &&str| parts.len() > 1 && words::split(part).nth(1).is_some();
                for part in parts.iter().copied().filter(several) {
                    mean(&mut rows, lexicon, part, index, PART);
                }
            }
            for synonym in category.synonyms.all() {
                mean(&mut rows, lexicon, synonym, index, 1.0);
            }
        }
        for (name, category) in catalog.inner.foreign.iter().filter(|(name, _)| !name.contains('>')) {
            mean(&mut rows, lexicon, name, *category as u32, 1.0);
        }
        add_values(catalog, lexicon, &mut rows);
        let mut rows: Vec<(String, Meaning)> = rows.into_iter().filter(|(row, _)| !row.is_empty()).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let patterns = rows.iter().enumerate().map(|(number, (row, _))| (row.as_str(), number as u32));
        let automaton = CharwiseDoubleArrayAhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostLongest)
            .build_with_values(patterns)
            .ok();
        Self { automaton, meanings: rows.into_iter().map(|(_, meaning)| meaning).collect() }
    }

    /// The longest known phrases of a text, from left to right, none over another.
    pub(super) fn find<'a>(&'a self, reading: &'a Reading) -> impl Iterator<Item = Match<'a>> {
        let found = self.automaton.iter().flat_map(|automaton| automaton.leftmost_find_iter(&reading.row));
        found.map(|found| Match {
            start: reading.token_at(found.start()),
            end: reading.token_at(found.end()),
            meaning: &self.meanings[found.value() as usize],
        })
    }
}

fn mean(
    rows: &mut FxHashMap<String, Meaning>,
    lexicon: &mut Lexicon,
    text: &str,
    category: u32,
    weight: f32,
) {
    let reading = lexicon.learn(text);
    if !reading.tokens.iter().any(|token| token.telling) {
        return;
    }
    if reading.tokens.len() == 2 && reading.tokens.iter().all(|token| token.cyrillic) {
        add(rows, reading.row.chars().rev().collect(), category, weight * TURNED);
    }
    add(rows, reading.row, category, weight);
}

fn add(rows: &mut FxHashMap<String, Meaning>, row: String, category: u32, weight: f32) {
    let meaning = rows.entry(row).or_default();
    match meaning.categories.iter_mut().find(|(known, _)| *known == category) {
        Some(known) => known.1 = known.1.max(weight),
        None => meaning.categories.push((category, weight)),
    }
}

fn add_values(catalog: &Catalog, lexicon: &mut Lexicon, rows: &mut FxHashMap<String, Meaning>) {
    for attribute in catalog.attributes().iter().filter(|one| one.brand || one.means.is_some()) {
        let AttributeKind::Enum { values, .. } = &attribute.kind else { continue };
        let implied = attribute.means.as_deref().and_then(|id| catalog.index_of(id)).map(|id| id as u32);
        for value in values {
            let names = [value.names.ru.as_str(), &value.names.en].into_iter().chain(value.synonyms.all());
            for name in names {
                let meaning = rows.entry(lexicon.learn(name).row).or_default();
                meaning.brand |= attribute.brand;
                meaning.implied = meaning.implied.or(implied);
            }
        }
    }
}

/// The things that a name lists.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let lists = name.split([',', '&', '/', '(', ')']);
    lists
        .flat_map(|part| part.split(" и "))
        .flat_map(|part| part.split(" and "))
        .map(str::trim)
        .filter(|part| !part.is_empty())
}
