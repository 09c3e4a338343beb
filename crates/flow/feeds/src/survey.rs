//! The categories that a file divides its offers into, and what they are by the catalog.
//!
//! A file that is new is read once before it is cut: of every record only its category path and its title count. Of each
//! category a few titles are kept, chosen by their hashes, so that the order of the records does not matter and a few other
//! records change little. All categories are then decided together ([`catalog::Recogniser::decide`]), because what a
//! seller sells elsewhere says much about the rest.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;

use catalog::{Decision, MAX_TITLES, SellerCategory};

use crate::source::Unify;
use crate::{Limits, records};

/// More categories than this are no categories; offers of the others are recognised one by one.
pub const MAX_CATEGORIES: usize = 20_000;
/// A category's name is a key of a row: a longer one goes on as a hash.
const MAX_NAME_BYTES: usize = 400;

/// What one of the seller's categories is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CategoryDecision {
    /// None: nothing is sure enough.
    pub category: Option<String>,
    /// The best first.
    pub suggestions: Vec<String>,
}

/// What the categories of a file are. Without any, every offer is recognised by itself.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    decisions: HashMap<String, CategoryDecision>,
}

impl Survey {
    /// What the path means; none: it was not surveyed.
    pub fn find(&self, path: &[String]) -> Option<&CategoryDecision> {
        if path.is_empty() || self.decisions.is_empty() {
            return None;
        }
        self.decisions.get(&name_of(path))
    }

    /// Whatever was decided for the path, now it is this.
    pub fn set(&mut self, path: &[String], decision: CategoryDecision) {
        self.insert(name_of(path), decision);
    }

    pub(crate) fn insert(&mut self, name: String, decision: CategoryDecision) {
        self.decisions.insert(name, decision);
    }
}

/// One of the seller's categories, as a file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) path: Vec<String>,
    pub(crate) offers: u64,
    /// By their hashes, the smallest first.
    titles: Vec<(u64, String)>,
}

/// The categories of a file, by name. What cannot be read ends the reading: whoever cuts the file will say so.
pub(crate) fn read(input: impl Read + Send + 'static) -> HashMap<String, Seen> {
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let Ok(mut records) = records(input, &Limits::default()) else { return seen };
    while let Ok(Some(record)) = records.next() {
        let path = record.offer.category_path;
        if path.is_empty() || !record.offer.category_id.is_empty() {
            continue;
        }
        let name = name_of(&path);
        if seen.len() >= MAX_CATEGORIES && !seen.contains_key(&name) {
            continue;
        }
        let category = seen.entry(name).or_insert_with(|| Seen { path, ..Seen::default() });
        category.offers += 1;
        category.note(record.offer.title);
    }
    seen
}

impl Seen {
    fn note(&mut self, title: String) {
        let mut hasher = DefaultHasher::new();
        title.hash(&mut hasher);
        let hash = hasher.finish();
        let Err(at) = self.titles.binary_search_by_key(&hash, |(hash, _)| *hash) else { return };
        if at < MAX_TITLES {
            self.titles.insert(at, (hash, title));
            self.titles.truncate(MAX_TITLES);
        }
    }
}

/// Decides the categories of one file together; by name, in the order of the names.
pub(crate) fn decide(unify: &dyn Unify, seen: &HashMap<String, Seen>) -> Vec<(String, Decision)> {
    let mut names: Vec<&String> = seen.keys().collect();
    names.sort_unstable();
    let texts: Vec<(Vec<&str>, Vec<&str>)> = names
        .iter()
        .map(|name| &seen[*name])
        .map(|one| {
            let path = one.path.iter().map(String::as_str).collect();
            (path, one.titles.iter().map(|(_, title)| title.as_str()).collect())
        })
        .collect();
    let categories: Vec<SellerCategory<'_>> = names
        .iter()
        .zip(&texts)
        .map(|(name, (path, titles))| SellerCategory { path, titles, offers: seen[*name].offers })
        .collect();
    names.into_iter().cloned().zip(unify.decide(&categories)).collect()
}

/// The survey of a file that belongs to no feed.
pub fn of_file(input: impl Read + Send + 'static, unify: &dyn Unify) -> Survey {
    let mut survey = Survey::default();
    for (name, decision) in decide(unify, &read(input)) {
        let suggestions = decision.suggestions.into_iter().map(|one| one.category).collect();
        survey.insert(name, CategoryDecision { category: decision.category, suggestions });
    }
    survey
}

/// The name that a category is kept under.
pub(crate) fn name_of(path: &[String]) -> String {
    let mut name = path.join(" > ");
    if name.len() > MAX_NAME_BYTES {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let end = (0..=MAX_NAME_BYTES - 64).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
        name.truncate(end);
        name.push_str(&hash);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_stays_a_key_and_differs_from_its_like() {
        let path = |end: &str| vec!["Каталог".to_owned(), format!("{}{end}", "ы".repeat(900))];
        assert!(name_of(&path("а")).len() <= MAX_NAME_BYTES);
        assert_ne!(name_of(&path("а")), name_of(&path("б")));
        assert_eq!(name_of(&["Мебель".into(), "Столы".into()]), "Мебель > Столы");
    }

    #[test]
    fn the_titles_that_are_kept_do_not_depend_on_their_order() {
        let titles: Vec<String> = (0..500).map(|number| format!("Стол {number}")).collect();
        let (mut forth, mut back) = (Seen::default(), Seen::default());
        for (one, other) in titles.iter().zip(titles.iter().rev()) {
            forth.note(one.clone());
            back.note(other.clone());
        }
        assert_eq!(forth.titles, back.titles);
        assert_eq!(forth.titles.len(), MAX_TITLES);
    }
}
