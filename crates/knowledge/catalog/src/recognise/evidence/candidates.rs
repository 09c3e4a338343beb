//! The categories that come into question, and the numbers that speak for each.

use super::super::Recogniser;
use super::calibration::{self, Amounts, WEIGHTS};
use super::names::{self, Said};
use super::profile::Profile;
use super::votes::{self, Votes};
use super::{Evidence, EvidenceKind, SellerCategory, TAKEN};

/// Titles must name a category so often to bring it up.
const VOTED: f32 = 0.12;
/// Another branch of the same root is less strange.
const SAME_ROOT: f32 = 0.5;
/// So much of one kind of evidence means a category itself.
const MEANT: f32 = 0.3;
/// With so much evidence of its own the profile counts in full.
const ENOUGH: f32 = 0.25;
/// The branch of a seller who has less of it than this is strange to them.
const STRANGE: f32 = 0.1;

/// One category that comes into question.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) category: usize,
    pub(super) probability: f32,
    amounts: Amounts,
}

impl Candidate {
    /// Something speaks for this category itself, not only for one above it.
    fn is_meant(&self) -> bool {
        let kinds = [
            EvidenceKind::Name,
            EvidenceKind::PartOf,
            EvidenceKind::NamedAbove,
            EvidenceKind::Titles,
            EvidenceKind::WordsAtHome,
        ];
        kinds.iter().any(|kind| self.amounts[*kind as usize] >= MEANT)
    }

    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let all = WEIGHTS.iter().zip(self.amounts);
        all.filter(|(_, amount)| *amount != 0.0)
            .map(|((kind, weight), amount)| Evidence { kind: *kind, amount, weight: amount * weight })
            .collect()
    }
}

/// What is known of a seller's category without the seller's profile.
pub(super) struct Gathered {
    /// The path says anything.
    pub(super) by_path: bool,
    candidates: Vec<(usize, Amounts)>,
}

/// Reads path and titles.
pub(super) fn gather(recogniser: &Recogniser, category: &SellerCategory<'_>) -> Gathered {
    let mut said: Vec<Said> = category
        .path
        .iter()
        .map(|segment| names::read(recogniser, segment))
        .filter(|said| !said.empty)
        .collect();
    let mut leaf = said.pop().unwrap_or_default();
    if let Some(known) = recogniser.known_path(category.path) {
        leaf = Said { named: vec![(known, 1.0)], ..Said::default() };
    }
    // A segment that names nothing leaves it to the one above.
    while leaf.names_nothing()
        && let Some(next) = said.pop()
    {
        leaf = next.behind(&leaf);
    }
    // The top of the tree is a branch to look in, no name of goods.
    if !leaf.named.is_empty() && leaf.named.iter().all(|(one, _)| recogniser.is_top(*one)) {
        said.push(Said { named: std::mem::take(&mut leaf).named, ..Said::default() });
    }
    let mut above = said.iter().rev().find(|said| !said.named.is_empty()).cloned().unwrap_or_default();
    if leaf.only_parts {
        leaf.part_of.clone_from(&above.named);
        // Parts have a category of their own where there is one.
        above.named.retain(|(one, _)| recogniser.generics.parts_of(*one) == *one);
    }
    let mut path = Path { leaf, above, all: said, rival_at_home: false };
    let at_home = |(one, _): &(usize, f32)| branches(recogniser, *one, &path.all).0 > 0.0;
    if path.leaf.named.iter().any(at_home) {
        // A name inside the branch leaves nothing to guess by single words.
        path.leaf.words.clear();
    } else {
        path.rival_at_home = path.leaf.words.iter().any(at_home);
    }
    let votes = votes::count(recogniser, category.titles);
    let mut found = brought_up(recogniser, &path, &votes);
    found.sort_unstable();
    found.dedup();
    let candidates = found.into_iter().map(|one| (one, amounts(recogniser, one, &path, &votes))).collect();
    Gathered { by_path: !path.leaf.is_silent() || !path.above.is_silent(), candidates }
}

/// The candidates with their probabilities, the best first.
pub(super) fn weigh(
    recogniser: &Recogniser,
    gathered: &Gathered,
    profile: Option<&Profile>,
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::with_capacity(gathered.candidates.len());
    for (category, amounts) in &gathered.candidates {
        let (category, mut amounts) = (*category, *amounts);
        if let Some(profile) = profile {
            let share = profile.share(recogniser.branch(category));
            amounts[EvidenceKind::Profile as usize] = share * (own_evidence(&amounts) / ENOUGH).min(1.0);
            let strange = if share < STRANGE { profile.known() } else { 0.0 };
            amounts[EvidenceKind::Strange as usize] = strange;
            let words = amounts[EvidenceKind::Words as usize];
            amounts[EvidenceKind::WordsAtHome as usize] =
                words * share.max(amounts[EvidenceKind::Branch as usize]);
        }
        let probability = calibration::probability(&amounts);
        candidates.push(Candidate { category, probability, amounts });
    }
    if let Some(profile) = profile {
        suggest_profile(profile, &mut candidates);
    }
    candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(b.category.cmp(&a.category)));
    prefer_leaves(recogniser, &mut candidates);
    candidates
}

/// A branch is decided for only where nothing below it is sure enough.
fn prefer_leaves(recogniser: &Recogniser, candidates: &mut Vec<Candidate>) {
    let below = |candidates: &[Candidate]| {
        let best = candidates.first()?.category;
        candidates.iter().position(|one| {
            let is_below = one.category != best && recogniser.is_under(one.category, best);
            is_below && one.probability >= TAKEN && one.is_meant()
        })
    };
    while let Some(leaf) = below(candidates) {
        let leaf = candidates.remove(leaf);
        candidates.insert(0, leaf);
    }
}

/// What the seller sells most is worth suggesting, whatever it is called; it is never taken for that alone.
fn suggest_profile(profile: &Profile, candidates: &mut Vec<Candidate>) {
    for (category, share) in profile.main_branches() {
        if !candidates.iter().any(|one| one.category == category) {
            let mut amounts = [0.0; WEIGHTS.len()];
            amounts[EvidenceKind::Profile as usize] = share;
            let probability = calibration::probability(&amounts).min(TAKEN * 0.9);
            candidates.push(Candidate { category, probability, amounts });
        }
    }
}

/// What speaks for a category itself. Without any, the profile does not count.
fn own_evidence(amounts: &Amounts) -> f32 {
    let kinds = [
        EvidenceKind::Name,
        EvidenceKind::Words,
        EvidenceKind::PartOf,
        EvidenceKind::NearName,
        EvidenceKind::NamedAbove,
        EvidenceKind::Titles,
    ];
    kinds.iter().map(|kind| amounts[*kind as usize]).sum()
}

/// A path as it was read.
struct Path {
    leaf: Said,
    /// The nearest segment above the leaf that names anything.
    above: Said,
    /// All segments above the leaf.
    all: Vec<Said>,
    /// The leaf names nothing in the branches of the segments above, but has words of something there.
    rival_at_home: bool,
}

/// The categories that anything names, and those above them that may hold offers.
fn brought_up(recogniser: &Recogniser, path: &Path, votes: &Votes) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let leaf = &path.leaf;
    found.extend(leaf.named.iter().chain(&leaf.words).chain(&path.above.named).map(|(one, _)| *one));
    found.extend(leaf.part_of.iter().flat_map(|(one, _)| [*one, recogniser.generics.parts_of(*one)]));
    found.extend(votes.own.iter().filter(|(_, share)| *share >= VOTED).map(|(one, _)| *one));
    let parents: Vec<usize> = found
        .iter()
        .flat_map(|one| std::iter::successors(Some(*one), |at| recogniser.parents[*at]))
        .collect();
    found.extend(parents);
    found.retain(|one| !recogniser.is_top(*one));
    found
}

fn amounts(recogniser: &Recogniser, category: usize, path: &Path, votes: &Votes) -> Amounts {
    let mut amounts = [0.0; WEIGHTS.len()];
    let leaf = &path.leaf;
    let name = amount_of(&leaf.named, category);
    let mut set = |kind: EvidenceKind, amount: f32| amounts[kind as usize] = amount;
    set(EvidenceKind::Name, name);
    // The name of a branch has words of the names below it: they say nothing for those.
    let below = leaf.named.iter().any(|(one, _)| recogniser.is_under(category, *one));
    let words = if below { 0.0 } else { amount_of(&leaf.words, category) };
    set(EvidenceKind::Words, words);
    let part_of = leaf.part_of.iter().map(|(of, strength)| match category {
        _ if recogniser.generics.parts_of(*of) == category => *strength,
        _ if *of == category => 0.4 * strength,
        _ => 0.0,
    });
    set(EvidenceKind::PartOf, most(part_of));
    let near = leaf.named.iter().map(|(one, strength)| strength * nearness(recogniser, *one, category));
    set(EvidenceKind::NearName, most(near));
    let others =
        leaf.named.iter().filter(|(one, _)| *one != category && nearness(recogniser, *one, category) <= 0.0);
    set(EvidenceKind::OtherName, most(others.map(|(_, strength)| *strength)));
    set(EvidenceKind::NamedAbove, amount_of(&path.above.named, category));
    let (branch, other) = branches(recogniser, category, &path.all);
    set(EvidenceKind::Branch, branch);
    set(EvidenceKind::OtherBranch, if path.rival_at_home { 2.0 * other } else { other });
    let under = |top: usize| {
        let votes = votes.own.iter().filter(|(one, _)| recogniser.is_under(*one, top));
        votes.map(|(_, share)| share).sum::<f32>()
    };
    set(EvidenceKind::Titles, under(category));
    let own = recogniser.branch(category);
    set(
        EvidenceKind::OtherTitles,
        most(votes.branches.iter().filter(|(one, _)| *one != own).map(|(_, share)| *share)),
    );
    set(EvidenceKind::WordsAtHome, words * branch);
    let general = !recogniser.catalog.inner.children[category].is_empty();
    set(EvidenceKind::General, if general { 1.0 } else { 0.0 });
    amounts
}

/// How much the segments above put a category into their branches, and how much into others.
fn branches(recogniser: &Recogniser, category: usize, segments: &[Said]) -> (f32, f32) {
    let (mut branch, mut strongest, mut is_near) = (0.0_f32, 0.0_f32, false);
    let own = recogniser.branch(category);
    for (named, strength) in segments.iter().flat_map(|said| said.named.iter().chain(&said.part_of)) {
        strongest = strongest.max(*strength);
        is_near |= recogniser.parents[own] == recogniser.parents[recogniser.branch(*named)];
        let share = if recogniser.is_under(category, *named) {
            1.0
        } else if !recogniser.is_top(*named) && recogniser.is_under(*named, own) {
            0.5
        } else {
            0.0
        };
        branch = branch.max(share * strength);
    }
    let other = if is_near { SAME_ROOT * strongest } else { strongest };
    (branch, if branch > 0.0 { 0.0 } else { other })
}

/// How much the name of one category says for another above or below it.
fn nearness(recogniser: &Recogniser, named: usize, category: usize) -> f32 {
    if named == category {
        0.0
    } else if recogniser.is_under(named, category) {
        0.8
    } else if recogniser.is_under(category, named) {
        0.4
    } else {
        0.0
    }
}

fn amount_of(list: &[(usize, f32)], category: usize) -> f32 {
    list.iter().find(|(one, _)| *one == category).map_or(0.0, |(_, strength)| *strength)
}

fn most(amounts: impl Iterator<Item = f32>) -> f32 {
    amounts.fold(0.0, f32::max)
}
