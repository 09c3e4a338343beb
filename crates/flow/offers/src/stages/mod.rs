//! What the offers do for the stages (crate `stages`), in the transactions that change offers.
//!
//! - **T0.** A transaction that changes offers writes one row of `changed` per lane and seller ([`told`]), if some stage's
//!   mask meets the changed paths; else nothing. Which masks there are every writer knows from memory ([`interests`]).
//! - **The pair** of an offer and a stage is the truth; queue, timers, parked ones and counts follow from it. [`pairs`]
//!   writes all of them from the pair before and after, so they cannot disagree.
//! - **Callers** are saves that a stage's `on_saved` has still to be called with ([`callers`]).
//! - An offer that leaves the tables takes its pairs, and all that follows from them, with it ([`pairs::forget`]).
//!
//! What a stage is, when it is asked and how it runs is not known here.

pub mod callers;
mod counts;
pub mod interests;
pub mod pairs;
pub mod tables;
pub(crate) mod told;

use wire::offers::actor;

pub use interests::{Interests, Masks, meets};
pub use pairs::Pairs;

/// The stage that expires offers; its times are the offers' own due rows.
pub const EXPIRE: &str = "expire";

/// Woken when there may be work for the stages of a shard.
pub const CHANNEL: &str = "stages";

/// How urgent a change is, and what follows from it; the number is that in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A person, moderation, or another stage's run in this lane.
    Main,
    /// A time that a stage asked for.
    Timers,
    /// Loads of feeds and answers of the photo service.
    Bulk,
    /// Walks over all offers.
    Low,
}

impl Lane {
    pub const ALL: [Self; 4] = [Self::Main, Self::Timers, Self::Bulk, Self::Low];

    pub const fn number(self) -> u32 {
        match self {
            Self::Main => 0,
            Self::Timers => 1,
            Self::Bulk => 2,
            Self::Low => 3,
        }
    }

    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.number() == number)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Timers => "timers",
            Self::Bulk => "bulk",
            Self::Low => "low",
        }
    }

    /// The lane of a change by this kind of actor. What a stage's run saves is told in the lane of the run instead.
    pub fn of(kind: actor::Kind) -> Self {
        match kind {
            actor::Kind::Feed | actor::Kind::Photos => Self::Bulk,
            actor::Kind::System => Self::Timers,
            actor::Kind::Unspecified | actor::Kind::Api | actor::Kind::Moderation | actor::Kind::Stage => {
                Self::Main
            }
        }
    }
}
