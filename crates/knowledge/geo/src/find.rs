//! From an address to a place.

use std::borrow::Cow;
use std::cell::LazyCell;

use crate::index::{HOME, Named, SHORTEST_MISSPELT, WELL_KNOWN, key, key_of_stems};
use crate::nearest::distance_km;
use crate::places::{Place, Places};
use crate::text::{Role, Word, parts};

/// What an address says about the place.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    Found(&'a Place),
    /// Several places of the name, and nothing that decides between them; the largest first.
    Ambiguous(Vec<&'a Place>),
    /// No place is named. Perhaps one of these is meant.
    NotFound {
        suggestions: Vec<&'a Place>,
    },
}

/// The words of the longest name.
const NAME_WORDS: usize = 4;
/// Words of an address that are read; what follows is ignored.
const ADDRESS_BYTES: usize = 1000;
/// A place that has more than this share of the largest one's people may be meant as well.
const RIVAL: f64 = 0.3;
/// Entries of one name this near to each other are one place.
const SAME_PLACE_KM: f64 = 15.0;
const SUGGESTIONS: usize = 5;

/// A run of words that is a place's name.
struct Mention<'a> {
    candidates: &'a [Named],
    /// A word like «город» stands before it.
    marked: bool,
}

/// How words are compared: as they stand, or without their endings.
enum Form<'a> {
    Exact,
    /// Of all words of the part.
    Stems(&'a [Cow<'a, str>]),
}

/// Everything that an address names.
#[derive(Default)]
struct Reading<'a> {
    mentions: Vec<Mention<'a>>,
    regions: Vec<u32>,
    countries: Vec<u32>,
    /// Words that are nothing known.
    unknown: Vec<String>,
}

impl Places {
    /// The place that an address lies in.
    pub fn find_text(&self, address: &str) -> Answer<'_> {
        let end = address.floor_char_boundary(ADDRESS_BYTES);
        let folded = words::fold(&address[..end]);
        let mut named = Reading::default();
        for part in parts(&folded) {
            self.read_part(&part, &mut named);
        }
        let mut found = self.choose(&named);
        if found.is_none() && !named.unknown.is_empty() {
            found = self.choose_misspelt(&named);
        }
        found.unwrap_or_else(|| Answer::NotFound { suggestions: self.largest_of(&named.regions) })
    }

    fn read_part<'a>(&'a self, words: &[Word<'_>], reading: &mut Reading<'a>) {
        // A word is in several runs, and most names are found as they stand.
        let stems =
            LazyCell::new(|| words.iter().map(|word| words::stem(word.text)).collect::<Vec<Cow<'_, str>>>());
        let mut at = 0;
        while at < words.len() {
            if words[at].role != Role::Name {
                at += 1;
                continue;
            }
            let longest = (1..=NAME_WORDS.min(words.len() - at)).rev();
            let known =
                longest.clone().find(|length| self.read_run(words, at, *length, &Form::Exact, reading));
            let known = known.or_else(|| {
                let form = Form::Stems(&stems);
                longest.clone().find(|length| self.read_run(words, at, *length, &form, reading))
            });
            if known.is_none() {
                reading.unknown.push(words[at].text.to_owned());
            }
            at += known.unwrap_or(1);
        }
    }

    /// Whether a run of words is a region, a country or a place; what it is is noted.
    fn read_run<'a>(
        &'a self,
        words: &[Word<'_>],
        at: usize,
        length: usize,
        form: &Form<'_>,
        reading: &mut Reading<'a>,
    ) -> bool {
        let run = &words[at..at + length];
        if run.iter().any(|word| matches!(word.role, Role::Idle | Role::StreetMark)) {
            return false;
        }
        let index = &self.inner.index;
        let (key, places) = match form {
            Form::Exact => (key(run.iter().map(|word| word.text)), &index.exact),
            Form::Stems(stems) => {
                (key_of_stems(stems[at..at + length].iter().map(Cow::as_ref)), &index.stems)
            }
        };
        let before = at.checked_sub(1).map(|before| words[before].role);
        let after = words.get(at + length).map(|word| word.role);
        let beside_mark = before == Some(Role::RegionMark) || after == Some(Role::RegionMark);
        if beside_mark
            && let Some(regions) = index.marked_regions.get(&key).or_else(|| index.bare_regions.get(&key))
        {
            reading.regions.extend(regions);
            return true;
        }
        if let Some(country) = index.countries.get(&key).filter(|_| before != Some(Role::CityMark)) {
            reading.countries.push(*country);
            return true;
        }
        if let Some(candidates) = places.get(&key) {
            reading.mentions.push(Mention { candidates, marked: before == Some(Role::CityMark) });
            return true;
        }
        let adjective = run
            .last()
            .is_some_and(|word| ["ая", "ий", "ой", "ый"].iter().any(|end| word.text.ends_with(end)));
        let regions = index.bare_regions.get(&key).or_else(|| index.marked_regions.get(&key));
        if let Some(regions) = regions.filter(|_| !adjective) {
            reading.regions.extend(regions);
            return true;
        }
        false
    }

    /// The mention that counts, and of its places the one that is meant.
    fn choose(&self, named: &Reading<'_>) -> Option<Answer<'_>> {
        let eligible = |mention: &Mention<'_>| self.eligible(mention.candidates, mention.marked, named);
        if let Some(places) =
            named.mentions.iter().rev().filter(|one| one.marked).map(eligible).find(|one| !one.is_empty())
        {
            return Some(decide(places));
        }
        let all = named.mentions.iter().map(eligible).filter(|places| !places.is_empty());
        let largest = |places: &Vec<&Place>| places.iter().map(|place| place.population).max();
        all.max_by_key(largest).map(|places| decide(places))
    }

    fn choose_misspelt(&self, named: &Reading<'_>) -> Option<Answer<'_>> {
        let pairs = named.unknown.windows(2).map(|pair| pair.join(" "));
        let singles = named.unknown.iter().cloned();
        let tries = pairs.chain(singles).filter(|name| name.chars().count() >= SHORTEST_MISSPELT);
        tries.take(12).find_map(|name| {
            let candidates = self.inner.index.misspelt(&name);
            let places = self.eligible(&candidates, false, named);
            (!places.is_empty()).then(|| decide(places))
        })
    }

    /// The places of a name that agree with the regions and countries of the address; the largest first.
    fn eligible(&self, candidates: &[Named], marked: bool, named: &Reading<'_>) -> Vec<&Place> {
        let inner = &self.inner;
        let country = |place: &Place| {
            named.countries.iter().any(|country| inner.countries[*country as usize].code == place.country)
        };
        let fits = |one: &&Named| {
            let place = &inner.places[one.place as usize];
            let agrees = named.countries.is_empty() || country(place);
            let known =
                country(place) || HOME.contains(&place.country.as_str()) || place.population >= WELL_KNOWN;
            // Former names and foreign forms are words of their own too often, unless the place is large or marked.
            agrees && known && (!one.other || marked || place.population >= WELL_KNOWN)
        };
        let mut places: Vec<&Place> =
            candidates.iter().filter(fits).map(|one| &inner.places[one.place as usize]).collect();
        let in_region = |place: &&Place| {
            named.regions.iter().any(|region| inner.regions[*region as usize].code == place.region)
        };
        if places.iter().any(in_region) {
            places.retain(in_region);
        } else if !named.regions.is_empty() {
            // Only of a large place is it likelier that the region is wrong than that the village is unknown.
            places.retain(|place| place.population >= WELL_KNOWN);
        }
        places.sort_by_key(|place| (std::cmp::Reverse(place.population), place.id));
        places
    }

    fn largest_of(&self, regions: &[u32]) -> Vec<&Place> {
        let codes: Vec<&str> =
            regions.iter().map(|region| self.inner.regions[*region as usize].code.as_str()).collect();
        if codes.is_empty() {
            return Vec::new();
        }
        let mut places: Vec<&Place> =
            self.inner.places.iter().filter(|place| codes.contains(&place.region.as_str())).collect();
        places.sort_by_key(|place| std::cmp::Reverse(place.population));
        places.truncate(SUGGESTIONS);
        places
    }
}

/// One place, unless another one may be meant as well.
fn decide(places: Vec<&Place>) -> Answer<'_> {
    let first = places[0];
    let rival = |place: &&Place| {
        f64::from(place.population) > RIVAL * f64::from(first.population)
            && distance_km((place.lat, place.lon), (first.lat, first.lon)) > SAME_PLACE_KM
    };
    if !places.iter().skip(1).any(&rival) {
        return Answer::Found(first);
    }
    let mut rivals: Vec<&Place> =
        places.into_iter().filter(|place| place.id == first.id || rival(place)).collect();
    rivals.truncate(SUGGESTIONS);
    Answer::Ambiguous(rivals)
}
