//! Which category of the catalog a seller's own category is, by all that speaks for it.
//!
//! A title alone is weak evidence; the seller's category is strong evidence, and there are few of them. So a decision is
//! made for a seller's category as a whole: the names along its path ([`names`]), the vote of its offers' titles
//! ([`votes`]) and, last and never alone, what else the seller sells ([`profile`]). Each candidate gets a few numbers, and
//! a logistic function of them is the probability that it is right ([`calibration`]). Over one threshold the best
//! candidate is taken, over another it is suggested, below that nothing is said.

mod calibration;
mod candidates;
mod generic;
mod names;
mod profile;
mod votes;

use super::{Recogniser, Suggestion};
use candidates::{Candidate, Gathered};
pub(super) use generic::Generics;
use profile::Profile;

/// From this probability on a category is taken.
pub const TAKEN: f32 = 0.5;
/// From this probability on a category is suggested.
pub const SUGGESTED: f32 = 0.1;
/// The titles of a seller's category that are read; more add nothing.
pub const MAX_TITLES: usize = 24;

/// One of the categories that a seller has divided their goods into.
#[derive(Clone, Copy, Debug, Default)]
pub struct SellerCategory<'a> {
    /// From the root down; empty where the seller names none.
    pub path: &'a [&'a str],
    /// Some titles of its offers: [`MAX_TITLES`] are enough.
    pub titles: &'a [&'a str],
    pub offers: u64,
}

/// What is known of a seller's category.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The category to use; none when nothing is sure enough.
    pub category: Option<String>,
    /// Of the category, or of the best suggestion: how probably it is right.
    pub probability: f32,
    /// Up to three that are worth showing, the best first.
    pub suggestions: Vec<Suggestion>,
    /// Of each suggestion, what speaks for it and against it.
    pub evidence: Vec<Vec<Evidence>>,
}

/// One thing that speaks for a category, or against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub kind: EvidenceKind,
    /// How much of it there is, from 0 to 1.
    pub amount: f32,
    /// What it adds to the logarithm of the odds.
    pub weight: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvidenceKind {
    /// The last segment of the path names it.
    Name,
    /// Some words of the last segment are words of its names.
    Words,
    /// The last segment speaks of parts or accessories of it, or of a thing for it.
    PartOf,
    /// The last segment names something above or below it.
    NearName,
    /// The last segment names something else.
    OtherName,
    /// The nearest segment above that names anything names it.
    NamedAbove,
    /// It lies under what a segment above names.
    Branch,
    /// The segments above name other branches only.
    OtherBranch,
    /// Titles name it or something below it.
    Titles,
    /// Titles name other branches.
    OtherTitles,
    /// It is a branch, with categories below it.
    General,
    /// The seller's other offers are of its branch.
    Profile,
    /// The seller has hardly any other offers of its branch.
    Strange,
    /// Words of the last segment are words of its names, and a segment above or the seller's other offers are of its branch.
    WordsAtHome,
}

impl EvidenceKind {
    /// As it is kept and shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Words => "words",
            Self::PartOf => "part_of",
            Self::NearName => "near_name",
            Self::OtherName => "other_name",
            Self::NamedAbove => "named_above",
            Self::Branch => "branch",
            Self::OtherBranch => "other_branch",
            Self::Titles => "titles",
            Self::OtherTitles => "other_titles",
            Self::General => "general",
            Self::Profile => "profile",
            Self::Strange => "strange",
            Self::WordsAtHome => "words_at_home",
        }
    }
}

impl Recogniser {
    /// Decides all categories of one seller. The order of the answers is that of the categories.
    pub fn decide(&self, categories: &[SellerCategory<'_>]) -> Vec<Decision> {
        weigh_all(self, categories).iter().map(|candidates| decision(self, candidates)).collect()
    }

    /// All that comes into question for the categories of one seller, with what speaks for each: what the weights of the
    /// evidence are fitted to.
    pub fn candidates(&self, categories: &[SellerCategory<'_>]) -> Vec<Vec<(Suggestion, Vec<Evidence>)>> {
        let shown = |one: &Candidate| (suggestion(self, one), one.evidence());
        weigh_all(self, categories).iter().map(|all| all.iter().map(shown).collect()).collect()
    }
}

fn weigh_all(recogniser: &Recogniser, categories: &[SellerCategory<'_>]) -> Vec<Vec<Candidate>> {
    let gathered: Vec<Gathered> =
        categories.iter().map(|category| candidates::gather(recogniser, category)).collect();
    let alone: Vec<Vec<Candidate>> =
        gathered.iter().map(|one| candidates::weigh(recogniser, one, None)).collect();
    let profile = Profile::of(recogniser, categories, &alone);
    let weighed = gathered.iter().enumerate().map(|(at, one)| {
        let others = profile.without(recogniser, at, categories, &alone);
        candidates::weigh(recogniser, one, Some(&others))
    });
    weighed.collect()
}

/// Decides for one offer whose seller is not known otherwise; none when its path says nothing.
pub(super) fn decide_one(recogniser: &Recogniser, title: &str, path: &[&str]) -> Option<Decision> {
    if path.is_empty() {
        return None;
    }
    let gathered = candidates::gather(recogniser, &SellerCategory { path, titles: &[title], offers: 1 });
    gathered.by_path.then(|| decision(recogniser, &candidates::weigh(recogniser, &gathered, None)))
}

/// The candidates come with the best first.
fn decision(recogniser: &Recogniser, candidates: &[Candidate]) -> Decision {
    let shown = || candidates.iter().filter(|one| one.probability >= SUGGESTED).take(3);
    let best = shown().next().map(|one| suggestion(recogniser, one));
    Decision {
        probability: best.as_ref().map_or(0.0, |one| one.score),
        category: best.filter(|one| one.score >= TAKEN).map(|one| one.category),
        suggestions: shown().map(|one| suggestion(recogniser, one)).collect(),
        evidence: shown().map(Candidate::evidence).collect(),
    }
}

fn suggestion(recogniser: &Recogniser, one: &Candidate) -> Suggestion {
    Suggestion { category: recogniser.catalog.categories()[one.category].id.clone(), score: one.probability }
}
