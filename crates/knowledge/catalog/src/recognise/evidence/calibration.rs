//! From evidence to a probability.
//!
//! The weights are those of a logistic regression over seller categories that people have labelled, each feed weighing
//! the same; they are checked by leaving one feed out at a time (`cargo xtask bench recognise`).

use super::EvidenceKind;

/// All kinds, in the order of their numbers.
pub(super) const KINDS: [EvidenceKind; 14] = [
    EvidenceKind::Name,
    EvidenceKind::Words,
    EvidenceKind::PartOf,
    EvidenceKind::NearName,
    EvidenceKind::OtherName,
    EvidenceKind::NamedAbove,
    EvidenceKind::Branch,
    EvidenceKind::OtherBranch,
    EvidenceKind::Titles,
    EvidenceKind::OtherTitles,
    EvidenceKind::General,
    EvidenceKind::Profile,
    EvidenceKind::Strange,
    EvidenceKind::WordsAtHome,
];

const WEIGHTS: [f32; KINDS.len()] =
    [2.19, 0.09, 1.78, 0.79, -0.39, 0.93, 0.33, -0.84, 0.95, -1.18, -0.23, 1.36, -1.61, 3.13];
const BIAS: f32 = 0.07;

pub(super) fn weight(kind: EvidenceKind) -> f32 {
    WEIGHTS[kind as usize]
}

pub(super) fn probability(amounts: &[f32; KINDS.len()]) -> f32 {
    let sum: f32 = amounts.iter().zip(WEIGHTS).map(|(amount, weight)| amount * weight).sum();
    1.0 / (1.0 + (-(sum + BIAS)).exp())
}
