//! What the segments of a seller's path name.

use super::super::Recogniser;
use super::super::lexicon::{self, Reading};
use super::super::phrases::Match;
use super::generic::Word;

/// What one segment says: for some categories, how strongly it names them.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// Names it, as a whole or as the head of a phrase.
    pub(super) named: Vec<(usize, f32)>,
    /// Speaks of parts of it, or of a thing for it.
    pub(super) part_of: Vec<(usize, f32)>,
    /// Has words of its names.
    pub(super) words: Vec<(usize, f32)>,
    /// Nothing but words that mean parts of something.
    pub(super) only_parts: bool,
    /// Nothing but what something is made for: «Для кухни».
    pub(super) only_for: bool,
    /// Nothing but words that mean nothing.
    pub(super) empty: bool,
}

impl Said {
    pub(super) fn names_nothing(&self) -> bool {
        self.named.is_empty() && (self.part_of.is_empty() || self.only_for) && !self.only_parts
    }

    /// What is said with a segment below that names nothing: a little less, and the words of both.
    pub(super) fn behind(mut self, below: &Self) -> Self {
        self.named.iter_mut().chain(&mut self.part_of).for_each(|(_, strength)| *strength *= BEHIND);
        for (category, share) in &below.words {
            add(&mut self.words, *category, share * BEHIND);
        }
        for (category, strength) in &below.part_of {
            add(&mut self.part_of, *category, strength * FOR_IT);
        }
        self
    }

    pub(super) fn is_silent(&self) -> bool {
        self.named.is_empty() && self.part_of.is_empty() && self.words.is_empty() && !self.only_parts
    }
}

/// The segment is a name as a whole.
const WHOLE: f32 = 1.0;
/// The segment has a name as its head, and other words: at least this, more by the share of its words.
const HEAD: f32 = 0.45;
const HEAD_SHARE: f32 = 0.4;
/// A thing for something that is not known.
const FOR_UNKNOWN: f32 = 0.75;
/// A name that is not the head.
const ASIDE: f32 = 0.3;
/// A thing for it.
const CONTEXT: f32 = 0.6;
/// Of what a named thing is made for.
const FOR_IT: f32 = 0.5;
/// Of a segment that has another below it.
const BEHIND: f32 = 0.85;
/// Single words must make up so much of a name.
const WORDS_SHARE: f32 = 0.3;
/// So many categories with such words are looked at.
const MAX_WORDS: usize = 40;

/// Reads a segment: each of the things that it lists, or the whole if that is a name.
pub(super) fn read(recogniser: &Recogniser, segment: &str) -> Said {
    let folded = words::fold(segment);
    let mut said = Said::default();
    let kinds: Vec<Word> = words::split(&folded)
        .filter(|word| word.chars().any(char::is_alphabetic) && word.chars().count() > 1)
        .map(|word| recogniser.generics.word(word))
        .collect();
    said.empty = kinds.iter().all(|kind| *kind == Word::Empty);
    said.only_parts = !said.empty && kinds.iter().all(|kind| *kind != Word::Content);
    if said.empty || said.only_parts {
        return said;
    }
    if let Some(known) = recogniser.known_segment(&folded) {
        said.named.push((known, WHOLE));
        return said;
    }
    let whole = recogniser.lexicon.read_folded(&folded);
    if let Some(found) = whole_match(recogniser, &whole) {
        // «Для ванной» is not a bathroom: it is what is made for one.
        let described = whole.tokens.iter().all(|token| token.described);
        said.only_for = described;
        let (list, strength) =
            if described { (&mut said.part_of, CONTEXT) } else { (&mut said.named, WHOLE) };
        add_all(list, &found, strength);
        // One word alone may be a word of something else.
        if whole.tokens.len() == 1 {
            add_words(recogniser, &whole, 1.0, &mut said);
        }
        return said;
    }
    let speaks_of_parts = kinds.contains(&Word::Parts);
    let items = items(recogniser, &folded);
    let share = 0.5 + 0.5 / items.len().max(1) as f32;
    for item in &items {
        let reading = recogniser.lexicon.read_folded(item);
        read_item(recogniser, &reading, speaks_of_parts, &mut said);
        add_words(recogniser, &reading, share, &mut said);
    }
    said
}

fn whole_match<'a>(recogniser: &'a Recogniser, reading: &'a Reading) -> Option<Match<'a>> {
    let found = recogniser.phrases.find(reading).next()?;
    let whole = found.start == 0 && found.end == reading.tokens.len();
    (whole && !found.meaning.categories.is_empty()).then_some(found)
}

fn read_item(recogniser: &Recogniser, reading: &Reading, speaks_of_parts: bool, said: &mut Said) {
    let matches: Vec<Match<'_>> = recogniser
        .phrases
        .find(reading)
        .filter(|found| !found.meaning.brand && !found.meaning.categories.is_empty())
        .collect();
    let described = |found: &Match<'_>| reading.tokens[found.start].described;
    let own = reading.tokens.iter().filter(|token| !token.described).count();
    let cyrillic = reading.tokens.iter().any(|token| token.cyrillic);
    let mut heads = matches.iter().filter(|found| !described(found));
    let head = if cyrillic { heads.next() } else { heads.next_back() }.map(|found| found.start);
    let made_for_unknown = reading.tokens.iter().any(|token| token.described)
        && !matches.iter().any(|found| reading.tokens[found.end - 1].described);
    for found in &matches {
        let share = (found.end - found.start) as f32 / own.max(1) as f32;
        if described(found) || (speaks_of_parts && own == 0) {
            add_all(&mut said.part_of, found, CONTEXT);
        } else if head == Some(found.start) {
            let whole = found.start == 0 && found.end == reading.tokens.len();
            let strength = if whole { WHOLE } else { HEAD + HEAD_SHARE * share.min(1.0) };
            let strength = if made_for_unknown { strength * FOR_UNKNOWN } else { strength };
            let list = if speaks_of_parts { &mut said.part_of } else { &mut said.named };
            add_all(list, found, strength);
        } else {
            add_all(&mut said.named, found, ASIDE);
        }
    }
}

/// Categories of which single words are named. Of several things that are listed, each says less.
fn add_words(recogniser: &Recogniser, reading: &Reading, share: f32, said: &mut Said) {
    let own = reading.undescribed();
    let own = if own.tokens.is_empty() { reading } else { &own };
    for (category, words) in recogniser.rarity.find(own, MAX_WORDS) {
        if words >= WORDS_SHARE {
            add(&mut said.words, category as usize, words * share);
        }
    }
}

fn add_all(list: &mut Vec<(usize, f32)>, found: &Match<'_>, strength: f32) {
    for (category, weight) in &found.meaning.categories {
        add(list, *category as usize, strength * weight);
    }
}

pub(super) fn add(list: &mut Vec<(usize, f32)>, category: usize, strength: f32) {
    match list.iter_mut().find(|(known, _)| *known == category) {
        Some(known) => known.1 = known.1.max(strength),
        None => list.push((category, strength)),
    }
}

/// The things that a segment lists, without the words that say nothing and those that mean parts. What «и» adds to a thing
/// that something is for («для бани и сауны») is for it, too.
fn items(recogniser: &Recogniser, folded: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for part in folded.split([',', ';', '/', '|', '(', ')', '&', '+', '\\']) {
        let mut made_for: Option<&str> = None;
        for joined in part.split(" и ").flat_map(|part| part.split(" and ")) {
            let own = words::split(joined).find(|word| lexicon::is_part_of(word));
            let kept: Vec<&str> =
                words::split(joined).filter(|word| recogniser.generics.word(word) == Word::Content).collect();
            if !kept.is_empty() {
                let before = made_for.filter(|_| own.is_none());
                items.push(before.into_iter().chain(kept).collect::<Vec<_>>().join(" "));
            }
            made_for = own.or(made_for);
        }
    }
    items
}
