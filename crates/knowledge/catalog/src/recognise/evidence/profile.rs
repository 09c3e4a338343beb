//! What a seller sells, by the categories that are sure without it.

use super::super::Recogniser;
use super::SellerCategory;
use super::candidates::Candidate;

/// A candidate counts for the profile from this probability on.
const COUNTS: f32 = 0.5;

/// A branch is one of the seller's main ones from this share on.
const MAIN: f32 = 0.3;

/// Shares of the seller's offers by branch.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Of each category: offers in it and below it.
    below: Vec<f32>,
    /// Those directly below a root that have any.
    branches: Vec<usize>,
    all: f32,
    undecided: f32,
}

impl Profile {
    pub(super) fn of(
        recogniser: &Recogniser,
        categories: &[SellerCategory<'_>],
        decided: &[Vec<Candidate>],
    ) -> Self {
        let mut profile = Self {
            below: vec![0.0; recogniser.parents.len()],
            branches: Vec::new(),
            all: 0.0,
            undecided: 0.0,
        };
        for (category, candidates) in categories.iter().zip(decided) {
            profile.count(recogniser, category, candidates, 1.0);
        }
        profile
    }

    /// The same, without one of the categories: no decision supports itself.
    pub(super) fn without(
        &self,
        recogniser: &Recogniser,
        at: usize,
        categories: &[SellerCategory<'_>],
        decided: &[Vec<Candidate>],
    ) -> Self {
        let mut others = self.clone();
        others.count(recogniser, &categories[at], &decided[at], -1.0);
        others
    }

    fn count(
        &mut self,
        recogniser: &Recogniser,
        category: &SellerCategory<'_>,
        candidates: &[Candidate],
        sign: f32,
    ) {
        // A category with many offers tells more, but not so much more that the others would tell nothing.
        let offers = (category.offers as f32).sqrt() * sign;
        match candidates.first().filter(|best| best.probability >= COUNTS) {
            Some(best) => {
                self.all += offers;
                let branch = recogniser.branch(best.category);
                if !self.branches.contains(&branch) {
                    self.branches.push(branch);
                }
                let up = std::iter::successors(Some(best.category), |at| recogniser.parents[*at]);
                up.for_each(|at| self.below[at] += offers);
            }
            None => self.undecided += offers,
        }
    }

    /// The share of the other offers that are of this branch, from 0 to 1, less where few are decided.
    pub(super) fn share(&self, branch: usize) -> f32 {
        let known = self.all + 0.5 * self.undecided;
        if known <= 0.5 { 0.0 } else { (self.below[branch] / known).clamp(0.0, 1.0) }
    }

    /// The branches that hold a good part of the other offers.
    pub(super) fn main_branches(&self) -> impl Iterator<Item = (usize, f32)> {
        self.branches.iter().map(|branch| (*branch, self.share(*branch))).filter(|(_, share)| *share >= MAIN)
    }

    /// How much of the seller is known, from 0 to 1.
    pub(super) fn known(&self) -> f32 {
        let all = self.all + self.undecided;
        if all <= 0.5 { 0.0 } else { (self.all / all).clamp(0.0, 1.0) }
    }
}
