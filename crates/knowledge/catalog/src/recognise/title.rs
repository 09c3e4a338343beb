//! Which category a title speaks of.
//!
//! Evidence for categories is added up: phrases of the title, weaker where they only describe («чехол *для телефона*»);
//! the general category speaks for the special one below it. The sum becomes a score between 0 and 1. What the seller's own
//! category says is stronger than a title: see `evidence`.

use super::lexicon::Reading;
use super::phrases::Match;
use super::{Recognised, Recogniser, Suggestion};

/// Below this score a category is a suggestion, not an answer.
const THRESHOLD: f32 = 0.5;
/// The best score must exceed the second by this margin.
const MARGIN: f32 = 0.02;
/// The evidence that is certainty.
const CERTAIN: f32 = 1.6;

/// The first thing that a Russian title names, or the last that an English one does, is what is sold.
const HEAD: f32 = 0.25;
/// What follows a preposition describes.
const DESCRIBED: f32 = 0.45;
/// A title that names a category plainly has this much evidence for it.
const NAMED: f32 = 0.8;
/// How much a category speaks for its descendants.
const DOWNWARD: f32 = 0.4;
/// Of other words of the title that occur in the names above and of the category, each.
const CONTEXT: f32 = 0.08;
/// The name of a car's maker where the thing is named; elsewhere in the title.
const IMPLIED: f32 = 0.95;
const IMPLIED_ASIDE: f32 = 0.4;
/// The best that single words can do.
const WORDS_ONLY: f32 = 0.95;

struct Candidate {
    category: u32,
    evidence: f32,
}

/// The category of a title alone.
pub(super) fn recognise(recogniser: &Recogniser, title: &str) -> Recognised {
    let reading = recogniser.lexicon.read(title);
    let matches: Vec<Match<'_>> = recogniser.phrases.find(&reading).collect();
    let said = said_by_title(&reading, &matches);
    let mut candidates = weigh(recogniser, &reading, &said);
    if candidates.is_empty() {
        let found = recogniser.rarity.find(&reading, 10);
        candidates.extend(
            found.into_iter().map(|(category, share)| Candidate { category, evidence: share * WORDS_ONLY }),
        );
    }
    candidates.sort_by(|a, b| b.evidence.total_cmp(&a.evidence).then(a.category.cmp(&b.category)));
    answer(recogniser, &candidates)
}

/// Of the categories below one that is known already, the one that the title names; none when it names none of them.
pub(super) fn below(recogniser: &Recogniser, title: &str, category: usize) -> Option<usize> {
    if recogniser.catalog.inner.children[category].is_empty() {
        return None;
    }
    let reading = recogniser.lexicon.read(title);
    let matches: Vec<Match<'_>> = recogniser.phrases.find(&reading).collect();
    let said = said_by_title(&reading, &matches);
    let below = |one: &&Candidate| {
        one.category as usize != category && recogniser.is_under(one.category as usize, category)
    };
    let best = said.iter().filter(below).max_by(|a, b| a.evidence.total_cmp(&b.evidence))?;
    let rivals = said.iter().filter(below).filter(|one| one.category != best.category);
    let alone = rivals.map(|one| one.evidence).fold(0.0, f32::max) + MARGIN <= best.evidence;
    (alone && best.evidence >= NAMED).then_some(best.category as usize)
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

/// What the title names, with what speaks for it besides.
fn weigh(recogniser: &Recogniser, reading: &Reading, said: &[Candidate]) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> =
        said.iter().map(|one| Candidate { category: one.category, evidence: one.evidence }).collect();
    for candidate in &mut candidates {
        let category = candidate.category as usize;
        let above = |other: u32| recogniser.is_under(category, other as usize);
        for general in said.iter().filter(|one| one.category as usize != category && above(one.category)) {
            candidate.evidence += DOWNWARD * general.evidence;
        }
        let known = &recogniser.context[category];
        let context = reading.tokens.iter().filter(|token| known.binary_search(&token.id).is_ok()).count();
        candidate.evidence += CONTEXT * context as f32;
    }
    candidates
}
