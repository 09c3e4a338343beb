//! The names of attributes and of their values.

use daachorse::CharwiseDoubleArrayAhoCorasick;
use rustc_hash::FxHashMap;

use super::lexicon::{Lexicon, Reading};
use super::nearest::Spellings;
use super::number::{self, UnitSpelling};
use crate::model::{AttributeKind, Catalog};

pub(super) struct Values {
    /// Attributes by their names and synonyms.
    names: FxHashMap<String, Vec<usize>>,
    phrases: FxHashMap<String, u32>,
    /// The value that a phrase is, of an attribute.
    of: FxHashMap<(u32, u32), u32>,
    /// None when no attribute has values.
    automaton: Option<CharwiseDoubleArrayAhoCorasick<u32>>,
    /// Of each attribute the spellings of its units; empty for what is no number.
    units: Vec<Vec<UnitSpelling>>,
    /// Of each attribute its names, and those of its values.
    spellings: Vec<(Spellings, Vec<Spellings>)>,
}

/// A value of an attribute in a title.
pub(super) struct Mention {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) attribute: usize,
    pub(super) value: usize,
}

impl Values {
    pub(super) fn build(catalog: &Catalog, lexicon: &mut Lexicon) -> Self {
        let mut names: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        let (mut phrases, mut of) = (FxHashMap::default(), FxHashMap::default());
        for (index, attribute) in catalog.attributes().iter().enumerate() {
            let own = [attribute.names.ru.as_str(), &attribute.names.en, &attribute.id];
            for name in own.into_iter().chain(attribute.synonyms.all()) {
                let known = names.entry(lexicon.learn(name).row).or_default();
                if known.last() != Some(&index) {
                    known.push(index);
                }
            }
            let AttributeKind::Enum { values, .. } = &attribute.kind else { continue };
            for (number, value) in values.iter().enumerate() {
                let own = [value.names.ru.as_str(), &value.names.en, &value.id];
                for name in own.into_iter().chain(value.synonyms.all()) {
                    let row = lexicon.learn(name).row;
                    let next = phrases.len() as u32;
                    let phrase = *phrases.entry(row).or_insert(next);
                    of.entry((index as u32, phrase)).or_insert(number as u32);
                }
            }
        }
        phrases.remove("");
        let mut rows: Vec<(&str, u32)> =
            phrases.iter().map(|(row, phrase): (&String, &u32)| (row.as_str(), *phrase)).collect();
        rows.sort_unstable();
        let automaton = CharwiseDoubleArrayAhoCorasick::with_values(rows).ok();
        let units = catalog.attributes().iter().map(|attribute| match &attribute.kind {
            AttributeKind::Number { units, .. } => number::spellings(units),
            _ => Vec::new(),
        });
        let spellings = catalog.attributes().iter().map(|attribute| {
            let values = match &attribute.kind {
                AttributeKind::Enum { values, .. } => values.as_slice(),
                _ => &[],
            };
            let of_values = values.iter().map(|value| Spellings::of(&value.names)).collect();
            (Spellings::of(&attribute.names), of_values)
        });
        Self { names, phrases, of, automaton, units: units.collect(), spellings: spellings.collect() }
    }

    pub(super) fn units(&self, attribute: usize) -> &[UnitSpelling] {
        &self.units[attribute]
    }

    pub(super) fn spellings(&self, attribute: usize) -> &Spellings {
        &self.spellings[attribute].0
    }

    /// In the order of the attribute's values.
    pub(super) fn value_spellings(&self, attribute: usize) -> &[Spellings] {
        &self.spellings[attribute].1
    }

    /// The attributes of this name, given as a row.
    pub(super) fn named(&self, row: &str) -> &[usize] {
        self.names.get(row).map_or(&[], Vec::as_slice)
    }

    /// The value of an attribute that this row is.
    pub(super) fn value(&self, attribute: usize, row: &str) -> Option<usize> {
        let phrase = self.phrases.get(row)?;
        self.of.get(&(attribute as u32, *phrase)).map(|value| *value as usize)
    }

    /// The values of these attributes in a title, the longest first, none over another.
    pub(super) fn mentioned(&self, attributes: &[usize], title: &Reading) -> Vec<Mention> {
        let mut found = Vec::new();
        let all = self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(&title.row));
        for hit in all {
            let (start, end) = (title.token_at(hit.start()), title.token_at(hit.end()));
            for &attribute in attributes {
                if let Some(value) = self.of.get(&(attribute as u32, hit.value())) {
                    found.push(Mention { start, end, attribute, value: *value as usize });
                }
            }
        }
        found.sort_by_key(|mention| (std::cmp::Reverse(mention.end - mention.start), mention.start));
        let mut kept: Vec<Mention> = Vec::new();
        for mention in found {
            let apart = |other: &Mention| mention.end <= other.start || other.end <= mention.start;
            if kept.iter().all(|other| apart(other) && other.attribute != mention.attribute) {
                kept.push(mention);
            }
        }
        kept
    }
}
