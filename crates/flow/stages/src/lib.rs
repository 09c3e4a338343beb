//! Stages: code that may change an offer after it was created or changed, or when a time has come.
//!
//! A stage says of a change whether it wants the offer ([`stage::Stage::should_process`]), and is then run on it
//! ([`stage::Stage::process`]): a pure function from the offer and the stage's own state to a patch, a new state and a
//! timer, which are saved together or not at all. The scheduler may run it again at any time.
//!
//! ```text
//! T0  the offer's own transaction notes what changed        offers/src/stages/told.rs   one row per lane and seller
//! T1  stages are asked; what they want is queued            wishes.rs                   main lane
//! T2  up to 100 offers of a stage are run and saved         run.rs, item.rs             main lane, timers
//!     asked, run and saved at once, nothing queued          direct.rs                   lanes timers, bulk and low
//! ```
//!
//! - **The pair** of an offer and a stage ([`pair`]) is the truth: queue, timers, parked ones and counts are written from
//!   it by one function and cannot disagree ([`check_shard`] looks). An offer that leaves takes its pairs along.
//! - **Bytes are compared at the save**, of offer and pair, for runs without an effect too: what changed meanwhile drops
//!   out alone and runs again. At most one stage works on an offer at a time (`memory.rs`): in memory of the work
//!   token's holder, whose lease outlives every call.
//! - **Lanes.** Main first; every sixteenth batch serves a lower lane. What a run saves is told in the lane of the run.
//!   Sellers are served in turn; in the main lane a seller's n-th hundred stands n turns behind the head (`turns.rs`).
//! - **Failures** wait from a second to an hour, and are parked after 20 tries; an outside change un-parks. A call that
//!   fails as a whole counts no try and opens the stage's breaker (`health.rs`). Over 20 runs in ten minutes without an
//!   outside change are parked as a loop.
//! - **Debts.** A stage that is paused, or that does not answer for a minute, or has 100,000 offers waiting, is told of
//!   nothing and owes; afterwards a walk over the offers changed since makes up for it (`walk.rs`, `maintain.rs`). A new
//!   or widened stage walks over all. Walks begin when every writer of offers knows the stage's masks.
//!
//! A crash between any two steps leaves the row that caused the step, and it is done again; nothing is lost and nothing is
//! saved twice. The simulation (`tests/stages/simulation`) lives random histories with crashes, a failing store,
//! outages, pauses, walks and removals, and checks that mirrors are true, rows agree, timers are never early, no run
//! undoes a change, runs of an offer never overlap, and what is told of saves is in order and whole.
//!
//! Built in are `catalog`, `expire`, `photo-order`, `photos`, `price` and `video` ([`builtin`]).
//!
//! Decided here: the registry is in one shard, as every process reads it whole; there is no table `read`: in the lanes
//! without a queue a stage of another program gets its runs noted among its timers, so it keeps nobody waiting.
//!
//! - **Other programs** ([`api::plugin`]) are not trusted: what they may not say fails the one offer that it is said of, and
//!   what they do not say says nothing about any. `registration.rs` checks what is said of them.
//! - **After the save** whoever wants it is called ([`saved`](NoteCalls)), in order per offer, from lines of saves of their
//!   own: one that fails keeps nobody waiting but the later saves of its offer.
//! - **What people see** (`view.rs`, `offer_view.rs`) is counted where it happens and reported by each process (`activity.rs`).

mod activity;
pub mod api;
mod ask;
pub mod builtin;
mod check;
mod clear;
mod config;
mod direct;
mod directory;
mod error;
mod failures;
mod health;
mod item;
mod maintain;
mod memory;
mod metrics;
mod offer_view;
pub mod pair;
mod patch;
mod progress;
mod registration;
mod registry;
mod run;
mod saved;
mod scheduler;
pub mod stage;
mod start;
mod state;
pub mod tables;
mod turns;
pub mod view;
mod walk;
mod wishes;
mod work;

use std::sync::Arc;

use offers::Offers;

pub use activity::WINDOW_SECONDS;
pub use check::check_shard;
pub use config::{MAX_DEADLINE, Settings};
pub use directory::{Builtin, Connect, Entry};
pub use error::{Error, Result};
pub use failures::{Failure, FailureState, Of};
pub use health::Breaker;
pub use memory::{LOOP_WINDOW, MAX_LOOP_RUNS};
pub use patch::is_path;
pub use progress::Progress;
pub use registration::{MAX_ID_BYTES, Registration, check_registration};
pub use saved::{GROUP as SAVED_GROUP, NoteCalls};
pub use scheduler::{Done, Look, Piece};
pub use tables::tables;
pub use turns::BATCH;
pub use work::Scheduler;

use directory::Directory;
use memory::Memory;

/// The role under whose work tokens offers are run.
pub const ROLE: &str = "stages";
/// Every topic that the stages write or read.
pub const TOPICS: [&str; 3] =
    [model::topics::STAGES_SAVED, model::topics::STAGES_PRICE_POINTS, model::topics::OFFERS_CHANGES];

/// What the stages of a process stand on. Clones share it.
#[derive(Clone)]
pub struct Stages {
    pub offers: Offers,
    pub settings: Arc<Settings>,
    directory: Arc<Directory>,
    memory: Memory,
}

impl Stages {
    pub fn new(offers: Offers, settings: Settings, builtins: Vec<Builtin>, connect: Box<Connect>) -> Self {
        let directory = Arc::new(Directory::new(builtins, connect, offers.cluster.clone()));
        Self { offers, settings: Arc::new(settings), directory, memory: Memory::default() }
    }

    /// The stages as this process knows them.
    pub fn entries(&self) -> Arc<Vec<Arc<Entry>>> {
        self.directory.entries()
    }
}
