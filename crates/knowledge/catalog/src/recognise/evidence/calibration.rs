//! From evidence to a probability.
//!
//! The weights are those of a logistic regression over seller categories that people have labelled, each feed weighing
//! about the same, with the shipped vocabulary and with a poorer one, so that they hold where the vocabulary does not reach.
//! The fit is no part of the project: [`crate::Recogniser::candidates`] gives what it needs, and `cargo xtask bench
//! recognise` measures what comes of it.

use super::EvidenceKind;

/// Of every kind, what it adds to the logarithm of the odds where there is all of it. The order is that of the kinds.
pub(super) const WEIGHTS: [(EvidenceKind, f32); 14] = [
    (EvidenceKind::Name, 2.63),
    (EvidenceKind::Words, 0.87),
    (EvidenceKind::PartOf, 2.09),
    (EvidenceKind::NearName, 1.16),
    (EvidenceKind::OtherName, -0.09),
    (EvidenceKind::NamedAbove, 0.83),
    (EvidenceKind::Branch, 0.29),
    (EvidenceKind::OtherBranch, -0.80),
    (EvidenceKind::Titles, 1.51),
    (EvidenceKind::OtherTitles, -0.75),
    (EvidenceKind::General, -0.10),
    (EvidenceKind::Profile, 2.00),
    (EvidenceKind::Strange, -1.16),
    (EvidenceKind::WordsAtHome, 2.92),
];
/// With no evidence.
const BIAS: f32 = -1.0;

/// How much there is of each kind of evidence.
pub(super) type Amounts = [f32; WEIGHTS.len()];

pub(super) fn probability(amounts: &Amounts) -> f32 {
    let sum: f32 = amounts.iter().zip(WEIGHTS).map(|(amount, (_, weight))| amount * weight).sum();
    1.0 / (1.0 + (-(sum + BIAS)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stand_in_the_order_of_the_kinds() {
        for (at, (kind, _)) in WEIGHTS.iter().enumerate() {
            assert_eq!(*kind as usize, at, "{kind:?}");
        }
    }
}
