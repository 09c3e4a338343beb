//! The tables of the stages, all in the seller's shard but the registry.
//!
//! They are declared here because an offer and what stages have to do with it change in one transaction, and the offers
//! may not depend on the stages.

use store::{Shard, Space, Table, TableSpec};
use wire::stages::{ActivityRow, CallerRow, ChangedRow, CountRow, PairRow, RegistryRow, SavedRun, WalkRow};

const SYSTEM: &str = "stages";

/// (lane, seller, seq): what changed and was not told to every stage yet; seq is that of the transaction's outbox row.
pub const CHANGED: Table<(u32, String, i64), ChangedRow> =
    Table::new(SYSTEM, "changed", &["lane", "seller_id", "seq"], Space::Queue);
/// (offer, stage): all that a stage has to do with an offer; gone when it is nothing.
pub const PAIRS: Table<(i64, String), PairRow> =
    Table::new(SYSTEM, "pairs", &["offer_id", "stage"], Space::Small);
/// (stage, turn, offer): what waits in the main lane, and since when.
pub const QUEUE: Table<(String, i64, i64), i64> =
    Table::new(SYSTEM, "queue", &["stage", "turn", "offer_id"], Space::Queue);
/// (stage, moment, offer): the earlier of the pair's timer and retry.
pub const TIMERS: Table<(String, i64, i64), ()> =
    Table::new(SYSTEM, "timers", &["stage", "at", "offer_id"], Space::Queue);
/// (stage, offer): pairs whose last run failed and that are tried again.
pub const FAILING: Table<(String, i64), ()> =
    Table::new(SYSTEM, "failing", &["stage", "offer_id"], Space::Small);
/// (stage, offer): pairs that are not tried any more.
pub const PARKED: Table<(String, i64), ()> =
    Table::new(SYSTEM, "parked", &["stage", "offer_id"], Space::Small);
/// (stage, lane): how many rows the tables above have.
pub const COUNTS: Table<(String, u32), CountRow> =
    Table::new(SYSTEM, "counts", &["stage", "lane"], Space::Small);
/// (offer, stage): saves that the stage's `on_saved` has still to be called with, and how that goes.
pub const CALLERS: Table<(i64, String), CallerRow> =
    Table::new(SYSTEM, "callers", &["offer_id", "stage"], Space::Queue);
/// (offer, stage, number): those saves, in their order.
pub const CALLS: Table<(i64, String, i64), SavedRun> =
    Table::new(SYSTEM, "calls", &["offer_id", "stage", "number"], Space::Queue);
/// (stage, moment, offer): when the first of a pair's saves is called with.
pub const CALLS_DUE: Table<(String, i64, i64), ()> =
    Table::new(SYSTEM, "calls_due", &["stage", "at", "offer_id"], Space::Queue);
/// (stage, offer): callers that are not tried any more.
pub const CALLS_PARKED: Table<(String, i64), ()> =
    Table::new(SYSTEM, "calls_parked", &["stage", "offer_id"], Space::Small);
/// (stage): how far its walk over the shard's offers is.
pub const STAGE_WALKS: Table<(String,), WalkRow> = Table::new(SYSTEM, "walks", &["stage"], Space::Small);
/// (stage): every stage there is, in [`registry_shard`].
pub const REGISTRY: Table<(String,), RegistryRow> = Table::new(SYSTEM, "registry", &["stage"], Space::Small);

/// (stage, process): what a process has to say of a stage, in [`registry_shard`].
pub const ACTIVITY: Table<(String, String), ActivityRow> =
    Table::new(SYSTEM, "activity", &["stage", "process"], Space::Small);

/// All of the registry is in one shard: every process reads it whole, every few seconds.
pub fn registry_shard() -> Shard {
    Shard::of("stages.registry")
}

pub fn tables() -> Vec<TableSpec> {
    vec![
        CHANGED.spec(),
        PAIRS.spec(),
        QUEUE.spec(),
        TIMERS.spec(),
        FAILING.spec(),
        PARKED.spec(),
        COUNTS.spec(),
        CALLERS.spec(),
        CALLS.spec(),
        CALLS_DUE.spec(),
        CALLS_PARKED.spec(),
        STAGE_WALKS.spec(),
        REGISTRY.spec(),
        ACTIVITY.spec(),
    ]
}
