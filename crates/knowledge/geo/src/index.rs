//! Names to look up, by the hash of their words.

use std::hash::Hasher as _;

use rustc_hash::{FxHashMap, FxHasher};

use crate::pack::Unpacked;
use crate::text::is_region_mark;

/// The former USSR: here a name alone is enough.
pub(crate) const HOME: &[&str] =
    &["RU", "BY", "KZ", "UA", "AM", "AZ", "GE", "KG", "MD", "TJ", "TM", "UZ", "EE", "LV", "LT"];
/// Elsewhere a place needs its country named, or this population.
pub(crate) const WELL_KNOWN: u32 = 100_000;

/// How people shorten what GeoNames writes in full.
const SHORT_PLACES: &[(&str, u32)] = &[
    ("мск", 524_901),
    ("msk", 524_901),
    ("спб", 498_817),
    ("с петербург", 498_817),
    ("с пб", 498_817),
    ("spb", 498_817),
    ("екб", 1_486_209),
    ("нск", 1_496_747),
    ("н новгород", 520_555),
    ("нн", 520_555),
    ("ростов н д", 501_175),
    ("ростов на д", 501_175),
    ("наб челны", 523_750),
];
const SHORT_COUNTRIES: &[(&str, &str)] = &[
    ("рф", "RU"),
    ("российская федерация", "RU"),
    ("russian federation", "RU"),
    ("республика беларусь", "BY"),
    ("белоруссия", "BY"),
    ("рб", "BY"),
    ("рк", "KZ"),
    ("usa", "US"),
    ("us", "US"),
    ("соединенные штаты", "US"),
    ("uk", "GB"),
    ("england", "GB"),
    ("англия", "GB"),
    ("великобритания", "GB"),
    ("uae", "AE"),
    ("эмираты", "AE"),
    ("deutschland", "DE"),
    ("голландия", "NL"),
];

/// A place under one of its names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) place: u32,
    /// Not the name that it is known by.
    pub(crate) other: bool,
}

#[derive(Default)]
pub(crate) struct Index {
    pub(crate) exact: FxHashMap<u64, Vec<Named>>,
    pub(crate) stems: FxHashMap<u64, Vec<Named>>,
    /// Regions by their name without «область» and the like: those that have such a word, and those that do not.
    pub(crate) marked_regions: FxHashMap<u64, Vec<u32>>,
    pub(crate) bare_regions: FxHashMap<u64, Vec<u32>>,
    pub(crate) countries: FxHashMap<u64, u32>,
    /// The names that may be misspelt, and their keys with one letter left out, sorted by key.
    pub(crate) names: Vec<(String, Named)>,
    pub(crate) deletions: Vec<(u32, u32)>,
}

impl Index {
    pub(crate) fn build(unpacked: &Unpacked) -> Self {
        let mut index = Self::default();
        for (number, place) in unpacked.places.iter().enumerate() {
            let known = HOME.contains(&place.country.as_str()) || place.population >= WELL_KNOWN;
            let own = [place.name.as_str(), &place.name_ru].map(|name| (name, false));
            let others = unpacked.others[number].iter().map(|name| (name.as_str(), true));
            for (name, other) in own.into_iter().chain(others) {
                index.add(name, Named { place: number as u32, other }, known);
            }
        }
        for (name, id) in SHORT_PLACES {
            if let Some(place) = unpacked.places.iter().position(|place| place.id == *id) {
                index.add(name, Named { place: place as u32, other: false }, false);
            }
        }
        for (number, region) in unpacked.regions.iter().enumerate() {
            for name in [&region.name, &region.name_ru] {
                index.add_region(name, number as u32);
            }
        }
        index.add_countries(unpacked);
        index.deletions.sort_unstable();
        index
    }

    fn add(&mut self, name: &str, named: Named, may_be_misspelt: bool) {
        let folded = words::fold(name);
        let parts: Vec<&str> = words::split(&folded).collect();
        if parts.is_empty() {
            return;
        }
        let same = |list: &[Named]| list.iter().any(|known| known.place == named.place);
        let exact = self.exact.entry(key(parts.iter().copied())).or_default();
        if same(exact) {
            return;
        }
        exact.push(named);
        if !named.other {
            let stems = self.stems.entry(stem_key(parts.iter().copied())).or_default();
            if !same(stems) {
                stems.push(named);
            }
        }
        if may_be_misspelt && !named.other && parts.len() <= 3 {
            let joined = parts.join(" ");
            if joined.chars().count() >= SHORTEST_MISSPELT {
                let number = self.names.len() as u32;
                self.deletions.extend(deletions(&joined).map(|key| (key, number)));
                self.names.push((joined, named));
            }
        }
    }

    fn add_region(&mut self, name: &str, number: u32) {
        let folded = words::fold(name);
        let all: Vec<&str> = words::split(&folded).collect();
        let stripped: Vec<&str> = all.iter().copied().filter(|word| !is_region_mark(word)).collect();
        let map = if stripped.len() < all.len() { &mut self.marked_regions } else { &mut self.bare_regions };
        for key in [key(stripped.iter().copied()), stem_key(stripped.iter().copied())] {
            let known = map.entry(key).or_default();
            if !known.contains(&number) {
                known.push(number);
            }
        }
    }

    fn add_countries(&mut self, unpacked: &Unpacked) {
        let position = |code: &str| unpacked.countries.iter().position(|country| country.code == code);
        let own = unpacked.countries.iter().enumerate();
        let mut names: Vec<(&str, usize)> = own
            .flat_map(|(number, country)| [(country.name.as_str(), number), (&country.name_ru, number)])
            .collect();
        names.extend(SHORT_COUNTRIES.iter().filter_map(|(name, code)| Some((*name, position(code)?))));
        for (name, number) in names {
            let folded = words::fold(name);
            self.countries.insert(key(words::split(&folded)), number as u32);
            self.countries.insert(stem_key(words::split(&folded)), number as u32);
        }
    }

    /// The places whose name differs from this one by one letter.
    pub(crate) fn misspelt(&self, name: &str) -> Vec<Named> {
        let mut found: Vec<Named> = Vec::new();
        for wanted in deletions(name) {
            let from = self.deletions.partition_point(|(key, _)| *key < wanted);
            for (_, number) in self.deletions[from..].iter().take_while(|(key, _)| *key == wanted) {
                let (known, named) = &self.names[*number as usize];
                let new = found.iter().all(|one| one.place != named.place);
                if new && strsim::osa_distance(known, name) <= 1 {
                    found.push(*named);
                }
            }
        }
        found
    }
}

/// In a shorter name every letter counts.
pub(crate) const SHORTEST_MISSPELT: usize = 5;

pub(crate) fn key<'a>(words: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = FxHasher::default();
    for word in words {
        hasher.write(word.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}

fn stem_key<'a>(words: impl Iterator<Item = &'a str>) -> u64 {
    let stems: Vec<_> = words.map(words::stem).collect();
    key_of_stems(stems.iter().map(AsRef::as_ref))
}

pub(crate) fn key_of_stems<'a>(stems: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = FxHasher::default();
    for stem in stems {
        hasher.write(stem.as_bytes());
        hasher.write_u8(0xfe);
    }
    hasher.finish()
}

/// The keys of a name and of the name with each letter left out in turn.
fn deletions(name: &str) -> impl Iterator<Item = u32> {
    let without = name.char_indices().map(move |(at, letter)| {
        short_key(&[&name.as_bytes()[..at], &name.as_bytes()[at + letter.len_utf8()..]].concat())
    });
    std::iter::once(short_key(name.as_bytes())).chain(without)
}

fn short_key(bytes: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    (hasher.finish() >> 32) as u32
}
