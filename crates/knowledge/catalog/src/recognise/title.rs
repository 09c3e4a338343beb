//! Which category a title speaks of.
//!
//! Evidence for categories is added up: phrases of the title, weaker where they only describe («чехол *для телефона*»);
//! the general category speaks for the special one below it; the seller's own path favours what lies under it and is
//! evidence itself. The sum becomes a score between 0 and 1.

use super::lexicon::Reading;
use super::phrases::Match;
use super::{Recognised, Recogniser, Suggestion};

/// Below this score a category is a suggestion, not an answer.
const THRESHOLD: f32 = 0.5;
/// So much better than the next one must the best be.
const MARGIN: f32 = 0.02;
/// The evidence that is certainty.
const CERTAIN: f32 = 1.6;

/// The first thing that a Russian title names, or the last that an English one does, is what is sold.
const HEAD: f32 = 0.25;
/// What follows a preposition describes.
const DESCRIBED: f32 = 0.45;
/// How much a category speaks for its descendants.
const DOWNWARD: f32 = 0.4;
/// Of other words of the title that occur in the names above and of the category, each.
const CONTEXT: f32 = 0.08;
/// The last segment of the seller's path is a category's name as a whole, or only holds one.
const PATH_EXACT: f32 = 1.0;
const PATH_PARTLY: f32 = 0.6;
/// An earlier segment of the path.
const PATH_ABOVE: f32 = 0.5;
/// What the title says against an exact path.
const AGAINST_PATH: f32 = 0.75;
/// The name of a car's maker where the thing is named; elsewhere in the title.
const IMPLIED: f32 = 0.95;
const IMPLIED_ASIDE: f32 = 0.4;
/// The best that single words can do.
const WORDS_ONLY: f32 = 0.95;

struct Candidate {
    category: u32,
    evidence: f32,
}

struct Hint {
    category: u32,
    strength: f32,
    leaf: bool,
}

pub(super) fn recognise(recogniser: &Recogniser, title: &str, seller_path: &[&str]) -> Recognised {
    let reading = recogniser.lexicon.read(title);
    let matches: Vec<Match<'_>> = recogniser.phrases.find(&reading).collect();
    let said = said_by_title(&reading, &matches);
    let hints = hints(recogniser, seller_path);
    let mut candidates = weigh(recogniser, &reading, &said, &hints);
    if candidates.is_empty() {
        let found = recogniser.rarity.find(&reading);
        candidates.extend(
            found.into_iter().map(|(category, share)| Candidate { category, evidence: share * WORDS_ONLY }),
        );
    }
    candidates.sort_by(|a, b| b.evidence.total_cmp(&a.evidence).then(a.category.cmp(&b.category)));
    answer(recogniser, &candidates)
}

fn answer(recogniser: &Recogniser, candidates: &[Candidate]) -> Recognised {
    let suggestion = |candidate: &Candidate| Suggestion {
        category: recogniser.catalog.categories()[candidate.category as usize].id.clone(),
        score: (candidate.evidence / CERTAIN).min(1.0),
    };
    let suggestions: Vec<Suggestion> = candidates.iter().take(3).map(suggestion).collect();
    let Some(best) = suggestions.first() else {
        return Recognised { category: None, score: 0.0, confident: false, suggestions };
    };
    let alone =
        candidates.get(1).is_none_or(|second| (candidates[0].evidence - second.evidence) / CERTAIN >= MARGIN);
    Recognised {
        category: Some(best.category.clone()),
        score: best.score,
        confident: best.score >= THRESHOLD && alone,
        suggestions,
    }
}

/// The evidence of the title alone.
fn said_by_title(reading: &Reading, matches: &[Match<'_>]) -> Vec<Candidate> {
    let mut said: Vec<Candidate> = Vec::new();
    let named = |found: &&Match<'_>| !found.meaning.brand && !found.meaning.categories.is_empty();
    let undescribed = |found: &&Match<'_>| !reading.tokens[found.start].described;
    let cyrillic = reading.tokens.iter().any(|token| token.cyrillic);
    let mut heads = matches.iter().filter(named).filter(undescribed);
    let head = if cyrillic { heads.next() } else { heads.next_back() };
    for found in matches.iter().filter(named) {
        let words = found.end - found.start;
        let mut evidence = 1.0 + 0.3 * (words.min(3) - 1) as f32;
        if head.is_some_and(|head| head.start == found.start) {
            evidence += HEAD;
        } else if reading.tokens[found.start].described {
            evidence *= DESCRIBED;
        }
        for (category, weight) in &found.meaning.categories {
            add(&mut said, *category, evidence * weight);
        }
    }
    if said.is_empty() {
        for (at, found) in matches.iter().enumerate() {
            let Some(category) = found.meaning.implied else { continue };
            let first = matches[..at].iter().all(|before| before.meaning.implied.is_some());
            let leads = found.start == 0 || (at > 0 && first && matches[at - 1].end == found.start);
            add(&mut said, category, if leads { IMPLIED } else { IMPLIED_ASIDE });
        }
    }
    said
}

fn add(said: &mut Vec<Candidate>, category: u32, evidence: f32) {
    match said.iter_mut().find(|known| known.category == category) {
        Some(known) => known.evidence += evidence,
        None => said.push(Candidate { category, evidence }),
    }
}

/// What the seller's own path names.
fn hints(recogniser: &Recogniser, seller_path: &[&str]) -> Vec<Hint> {
    let mut hints: Vec<Hint> = Vec::new();
    let last = seller_path.len().saturating_sub(1);
    for (level, segment) in seller_path.iter().enumerate() {
        let reading = recogniser.lexicon.read(segment);
        let leaf = level == last;
        for found in recogniser.phrases.find(&reading) {
            let whole = found.start == 0 && found.end == reading.tokens.len();
            let strength = match (leaf, whole) {
                (true, true) => PATH_EXACT,
                (true, false) => PATH_PARTLY,
                (false, true) => PATH_ABOVE,
                (false, false) => continue,
            };
            let described = reading.tokens[found.start].described;
            let strength = if described { strength * DESCRIBED } else { strength };
            let categories = found.meaning.categories.iter();
            hints.extend(categories.map(|(category, weight)| Hint {
                category: *category,
                strength: strength * weight,
                leaf,
            }));
        }
    }
    hints
}

/// Title and path together.
fn weigh(recogniser: &Recogniser, reading: &Reading, said: &[Candidate], hints: &[Hint]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> =
        said.iter().map(|one| Candidate { category: one.category, evidence: one.evidence }).collect();
    for hint in hints.iter().filter(|hint| hint.leaf) {
        if !candidates.iter().any(|one| one.category == hint.category) {
            candidates.push(Candidate { category: hint.category, evidence: 0.0 });
        }
    }
    let exact = hints.iter().any(|hint| hint.leaf && hint.strength >= PATH_EXACT * 0.7);
    for candidate in &mut candidates {
        let category = candidate.category as usize;
        let above = |other: u32| is_above(recogniser, other as usize, category);
        for general in said.iter().filter(|one| one.category as usize != category && above(one.category)) {
            candidate.evidence += DOWNWARD * general.evidence;
        }
        let mut related = false;
        for hint in hints {
            let same = hint.category as usize == category;
            if same || above(hint.category) {
                related = true;
                let share = if same && hint.leaf { 1.0 } else { DOWNWARD };
                candidate.evidence += hint.strength * share;
            }
        }
        if exact && !related {
            candidate.evidence *= AGAINST_PATH;
        }
        let known = &recogniser.context[category];
        let context = reading.tokens.iter().filter(|token| known.binary_search(&token.id).is_ok()).count();
        candidate.evidence += CONTEXT * context as f32;
    }
    candidates
}

fn is_above(recogniser: &Recogniser, above: usize, category: usize) -> bool {
    let mut at = recogniser.parents[category];
    while let Some(parent) = at {
        if parent == above {
            return true;
        }
        at = recogniser.parents[parent];
    }
    false
}
