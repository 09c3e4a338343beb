//! What the titles of a seller's category name.

use super::super::Recogniser;
use super::MAX_TITLES;

/// The vote of titles.
#[derive(Clone, Debug, Default)]
pub(super) struct Votes {
    /// Of each category that got any: the share of titles that name it.
    pub(super) own: Vec<(usize, f32)>,
    /// The same by branch.
    pub(super) branches: Vec<(usize, f32)>,
}

/// A single title proves little: as if so many others said nothing.
const DOUBT: f32 = 0.7;
/// A title that only has words of a category's names.
const BY_WORDS: f32 = 0.5;
/// A title that only names a maker whose goods are of the category.
const BY_MAKER: f32 = 0.4;

pub(super) fn count(recogniser: &Recogniser, titles: &[&str]) -> Votes {
    let mut votes = Votes::default();
    let mut titles = titles[..titles.len().min(MAX_TITLES)].to_vec();
    titles.sort_unstable();
    titles.dedup();
    let each = 1.0 / (titles.len() as f32 + DOUBT);
    for title in titles {
        for (category, vote) in of_title(recogniser, title) {
            add(&mut votes.own, category, vote * each);
            add(&mut votes.branches, recogniser.branch(category), vote * each);
        }
    }
    votes
}

fn add(list: &mut Vec<(usize, f32)>, category: usize, vote: f32) {
    match list.iter_mut().find(|(known, _)| *known == category) {
        Some(known) => known.1 += vote,
        None => list.push((category, vote)),
    }
}

/// The categories that a title names, with one vote among them at most.
fn of_title(recogniser: &Recogniser, title: &str) -> Vec<(usize, f32)> {
    let reading = recogniser.lexicon.read(title);
    let matches: Vec<_> = recogniser.phrases.find(&reading).collect();
    let cyrillic = reading.tokens.iter().any(|token| token.cyrillic);
    let mut named = matches.iter().filter(|found| {
        let meaning = found.meaning;
        !meaning.brand && !meaning.categories.is_empty() && !reading.tokens[found.start].described
    });
    let head = if cyrillic { named.next() } else { named.next_back() };
    if let Some(head) = head {
        let all: f32 = head.meaning.categories.iter().map(|(_, weight)| weight).sum();
        return head
            .meaning
            .categories
            .iter()
            .map(|(id, weight)| (*id as usize, weight / all.max(1.0)))
            .collect();
    }
    if let Some((category, share)) =
        recogniser.rarity.find(&reading, 1).first().filter(|(_, share)| *share > 0.5)
    {
        return vec![(*category as usize, BY_WORDS * share)];
    }
    let implied = matches.iter().find_map(|found| found.meaning.implied);
    // A maker's name is on its goods and on parts for them.
    let shared = |category: u32| [category as usize, recogniser.generics.parts_of(category as usize)];
    implied.into_iter().flat_map(shared).map(|category| (category, BY_MAKER / 2.0)).collect()
}
