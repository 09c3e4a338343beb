//! The categories that a file divides its offers into, and what they are by the catalog.
//!
//! A file that is new is read once before it is cut: of every record only its category path and its title count. Of each
//! category a few titles are kept, chosen by their hashes, so that the order of the records does not matter and a few other
//! records change little. All categories are then decided together ([`catalog::Recogniser::decide`]), because what a
//! seller sells elsewhere says much about the rest.
//!
//! What is kept of a file is bounded, whatever the file is: in categories, in bytes of a name and of a title, and in all.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;

use catalog::{Decision, MAX_TITLES, SellerCategory};

use crate::source::Unify;
use crate::{Fatal, Limits, records};

/// More categories than this are no categories; offers of the others are recognised one by one.
pub const MAX_CATEGORIES: usize = 20_000;
/// A category's name is a key of a row: a longer one goes on as a hash.
const MAX_NAME_BYTES: usize = 400;
/// A longer path is no category's.
const MAX_PATH_BYTES: usize = 4_096;
/// So much of a title counts.
const MAX_TITLE_BYTES: usize = 512;
/// Paths and titles of one file together. Where they are more, later categories are decided by fewer titles, or not at all.
const MAX_BYTES: usize = 32 << 20;

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
pub(crate) struct FileCategory {
    pub(crate) path: Vec<String>,
    pub(crate) offers: u64,
    /// By their hashes, the smallest first.
    titles: Vec<(u64, String)>,
}

/// The categories of a file, by name. A fault of the file ends the reading: whoever cuts it will say so. A failure of the
/// input says nothing about the file, and is an error.
pub(crate) fn read(input: impl Read + Send + 'static) -> Result<HashMap<String, FileCategory>, Fatal> {
    let mut found = HashMap::new();
    match read_into(input, &mut found) {
        Err(fatal) if fatal.transient => Err(fatal),
        _ => Ok(found),
    }
}

fn read_into(
    input: impl Read + Send + 'static,
    found: &mut HashMap<String, FileCategory>,
) -> Result<(), Fatal> {
    let mut records = records(input, &Limits::default())?;
    let mut room = MAX_BYTES;
    while let Some(record) = records.next()? {
        let path = record.offer.category_path;
        let bytes: usize = path.iter().map(String::len).sum();
        if path.is_empty() || bytes > MAX_PATH_BYTES || !record.offer.category_id.is_empty() {
            continue;
        }
        let name = name_of(&path);
        let is_new = !found.contains_key(&name);
        if is_new && (found.len() >= MAX_CATEGORIES || bytes > room) {
            continue;
        }
        room -= if is_new { bytes } else { 0 };
        let category = found.entry(name).or_insert_with(|| FileCategory { path, ..FileCategory::default() });
        category.offers += 1;
        category.note(&record.offer.title, &mut room);
    }
    Ok(())
}

impl FileCategory {
    /// Keeps the title if its hash is among the smallest and there is room for it.
    fn note(&mut self, title: &str, room: &mut usize) {
        let title = &title[..title.floor_char_boundary(MAX_TITLE_BYTES)];
        let mut hasher = DefaultHasher::new();
        title.hash(&mut hasher);
        let hash = hasher.finish();
        let Err(at) = self.titles.binary_search_by_key(&hash, |(hash, _)| *hash) else { return };
        if at < MAX_TITLES && title.len() <= *room {
            *room -= title.len();
            self.titles.insert(at, (hash, title.to_owned()));
            if self.titles.len() > MAX_TITLES {
                *room += self.titles.pop().map_or(0, |(_, title)| title.len());
            }
        }
    }
}

/// Decides the categories of one file together; by name, in the order of the names.
pub(crate) fn decide(unify: &dyn Unify, found: &HashMap<String, FileCategory>) -> Vec<(String, Decision)> {
    let mut names: Vec<&String> = found.keys().collect();
    names.sort_unstable();
    let texts: Vec<(Vec<&str>, Vec<&str>)> = names
        .iter()
        .map(|name| &found[*name])
        .map(|one| {
            let path = one.path.iter().map(String::as_str).collect();
            (path, one.titles.iter().map(|(_, title)| title.as_str()).collect())
        })
        .collect();
    let categories: Vec<SellerCategory<'_>> = names
        .iter()
        .zip(&texts)
        .map(|(name, (path, titles))| SellerCategory { path, titles, offers: found[*name].offers })
        .collect();
    names.into_iter().cloned().zip(unify.decide(&categories)).collect()
}

/// The survey of a file that belongs to no feed. One that cannot be read has none: whoever reads it next will say so.
pub fn of_file(input: impl Read + Send + 'static, unify: &dyn Unify) -> Survey {
    let mut survey = Survey::default();
    for (name, decision) in decide(unify, &read(input).unwrap_or_default()) {
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
        let (mut forth, mut back) = (FileCategory::default(), FileCategory::default());
        let (mut room, mut other_room) = (MAX_BYTES, MAX_BYTES);
        for (one, other) in titles.iter().zip(titles.iter().rev()) {
            forth.note(one, &mut room);
            back.note(other, &mut other_room);
        }
        assert_eq!(forth.titles, back.titles);
        assert_eq!((forth.titles.len(), room), (MAX_TITLES, other_room));
        let kept: usize = forth.titles.iter().map(|(_, title)| title.len()).sum();
        assert_eq!(MAX_BYTES - room, kept, "room is given back");
    }

    fn lines(goods: impl Iterator<Item = (String, String)>) -> Vec<u8> {
        let line = |(number, (category, title)): (usize, (String, String))| {
            format!("{{\"id\":\"{number}\",\"title\":\"{title}\",\"category\":\"{category}\"}}\n")
                .into_bytes()
        };
        goods.enumerate().flat_map(line).collect()
    }

    #[test]
    fn what_is_kept_of_a_hostile_file_is_bounded() {
        let long = "x".repeat(1 << 20);
        let paths = (0..20).map(|number| (format!("{number}{long}"), "Table".to_owned()));
        let titles = (0..200).map(|number| ("Tables".to_owned(), format!("{number}{}", &long[..100_000])));
        let found = read(std::io::Cursor::new(lines(paths.chain(titles)))).unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["Tables"], "a megabyte is no category's name");
        let tables = &found["Tables"];
        assert_eq!((tables.offers, tables.titles.len()), (200, MAX_TITLES));
        assert!(tables.titles.iter().all(|(_, title)| title.len() <= MAX_TITLE_BYTES));
    }

    #[test]
    fn without_room_a_category_is_counted_and_keeps_no_title() {
        let mut category = FileCategory::default();
        let mut room = 10;
        category.note("Table", &mut room);
        category.note("Another table", &mut room);
        assert_eq!((category.titles.len(), room), (1, 5));
    }

    /// A store of files that fails in the middle says nothing about the file: the load is tried again, and nothing is decided
    /// by half of it.
    #[test]
    fn an_input_that_fails_is_no_survey() {
        struct Failing(std::io::Cursor<Vec<u8>>);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                match self.0.read(buffer)? {
                    0 => Err(std::io::Error::other("the network went away")),
                    some => Ok(some),
                }
            }
        }
        let text = lines((0..3).map(|number| ("Tables".to_owned(), format!("Table {number}"))));
        assert!(read(Failing(std::io::Cursor::new(text.clone()))).unwrap_err().transient);
        let broken = [text.as_slice(), b"<<<\n"].concat();
        assert_eq!(read(std::io::Cursor::new(broken)).unwrap()["Tables"].offers, 3);
    }
}
