//! The tables of the offers, all in the seller's shard (drafts: their owner's).

use store::{Space, Table, TableSpec};
use wire::feeds::{FeedDecision, Tally};
use wire::offers::{
    ArchiveFile, DraftIntent, DraftMoved, DraftPublished, DraftRow, Erasure, EventRow, FeedHead, FeedRow,
    FollowerRow, IdempotencyRow, OfferPart, Opinion, SweepRow,
};

const SYSTEM: &str = "offers";

/// Kinds of an offer's parts.
pub const CONTENT: &str = "content";
pub const MODERATION: &str = "moderation";
pub const FEED_PROBLEMS: &str = "feed";

/// (id, kind): content, moderation, billing, the states of stages: each written without touching the others.
pub const OFFER: Table<(i64, String), OfferPart> = Table::new(SYSTEM, "offer", &["id", "kind"], Space::Large);
/// (offer, version): what changed, but not the creation, which the offer itself tells.
pub const EVENTS: Table<(i64, i64), EventRow> =
    Table::new(SYSTEM, "events", &["offer_id", "version"], Space::Small);
/// The lists of the cabinet; read backwards, the newest comes first.
pub const PRESETS: Table<(String, u32, i64, i64), ()> = Table::new(
    SYSTEM,
    "user_offer_presets",
    &["seller_id", "preset_id", "create_time", "offer_id"],
    Space::Small,
);
pub const PRESETS_COUNT: Table<(String, u32), i64> =
    Table::new(SYSTEM, "user_offer_presets_count", &["seller_id", "preset_id"], Space::Small);
/// (seller, counter, currency or empty, stripe).
pub const COUNTERS: Table<(String, String, String, u32), i64> = Table::new(
    SYSTEM,
    "user_total_counters",
    &["seller_id", "counter_id", "currency", "seq_no"],
    Space::Small,
);
/// (moment, offer): what expires or leaves for the archive then.
pub const DUE: Table<(i64, i64), ()> = Table::new(SYSTEM, "due", &["due_at", "offer_id"], Space::Queue);
/// Opinions on offers that are not known yet.
pub const EARLY_OPINIONS: Table<(i64,), Opinion> =
    Table::new(SYSTEM, "early_opinions", &["offer_id"], Space::Small);

/// What a feed brought, by the seller's own id.
pub const FEED: Table<(String, String, String), FeedRow> =
    Table::new(SYSTEM, "feed", &["seller_id", "namespace", "external_id"], Space::Small);
/// The same in file order; ordinals are never given twice.
pub const FEED_ORDINALS: Table<(String, String, i64), String> =
    Table::new(SYSTEM, "feed_ordinals", &["seller_id", "namespace", "ordinal"], Space::Small);
/// (…, task, chunk of 4,096 ordinals): a bit for each that the load had. A dry run's rows stand under its task's negative
/// number, so that no sweep takes them for a load's; of ids without an ordinal it keeps a row under a negative chunk.
pub const FEED_SEEN: Table<(String, String, i64, i64), Vec<u8>> =
    Table::new(SYSTEM, "feed_seen", &["seller_id", "namespace", "task_id", "chunk"], Space::Small);
/// Batches that were applied; a dry run's tell what they would have done.
pub const FEED_BATCHES: Table<(String, String, i64, i64), Tally> =
    Table::new(SYSTEM, "feed_batches", &["seller_id", "namespace", "task_id", "batch"], Space::Small);
pub const FEED_HEAD: Table<(String, String), FeedHead> =
    Table::new(SYSTEM, "feed_head", &["seller_id", "namespace"], Space::Small);
pub const FEED_SWEEPS: Table<(String, String, i64), SweepRow> =
    Table::new(SYSTEM, "feed_sweeps", &["seller_id", "namespace", "task_id"], Space::Queue);
/// A person's word on a held load that has not come to its hold yet.
pub const FEED_DECISIONS: Table<(String, String, i64), FeedDecision> =
    Table::new(SYSTEM, "feed_decisions", &["seller_id", "namespace", "task_id"], Space::Small);

/// (month as year and month, hash): the files of the archive that are this shard's.
pub const ARCHIVE_FILES: Table<(u32, Vec<u8>), ArchiveFile> =
    Table::new(SYSTEM, "archive_files", &["month", "hash"], Space::Small);
/// (block of ids): which ids the archive has, and in which month; see `archive::ids`.
pub const ARCHIVE_IDS: Table<(u32,), Vec<u8>> = Table::new(SYSTEM, "archive_ids", &["block"], Space::Large);
/// (seller, follower): who else hears of all changes of the seller's offers.
pub const FOLLOWERS: Table<(String, String), FollowerRow> =
    Table::new(SYSTEM, "followers", &["seller_id", "follower"], Space::Small);
/// Followers that have not heard yet of what was there before them.
pub const FOLLOWER_WALKS: Table<(String, String), ()> =
    Table::new(SYSTEM, "follower_walks", &["seller_id", "follower"], Space::Queue);
/// Sellers of whom nothing may stay, or stayed.
pub const ERASURES: Table<(String,), Erasure> = Table::new(SYSTEM, "erasures", &["seller_id"], Space::Small);
/// Those of them who are not erased wholly yet.
pub const ERASURES_QUEUE: Table<(String,), ()> =
    Table::new(SYSTEM, "erasures_queue", &["seller_id"], Space::Small);
/// By its id, which begins with the owner's shard.
pub const DRAFT: Table<(String,), DraftRow> = Table::new(SYSTEM, "draft", &["id"], Space::Large);
pub const CURRENT_DRAFT: Table<(String,), String> =
    Table::new(SYSTEM, "current_draft", &["owner_id"], Space::Small);
/// Drafts of strangers that were begun in an hour.
pub const STRANGERS_DRAFTS: Table<(i64,), i64> =
    Table::new(SYSTEM, "strangers_drafts", &["hour"], Space::Small);
/// Moves to an owner that are under way.
pub const DRAFT_INTENTS: Table<(String, String), DraftIntent> =
    Table::new(SYSTEM, "draft_intents", &["owner_id", "source_id"], Space::Small);
pub const DRAFT_MOVED: Table<(String,), DraftMoved> =
    Table::new(SYSTEM, "draft_moved", &["id"], Space::Small);
pub const DRAFT_PUBLISHED: Table<(String,), DraftPublished> =
    Table::new(SYSTEM, "draft_published", &["id"], Space::Small);
/// (owner, call and key): calls that must not happen twice.
pub const IDEMPOTENCY: Table<(String, String), IdempotencyRow> =
    Table::new(SYSTEM, "idempotency", &["owner_id", "call_key"], Space::Small);
/// (moment, kind, id or owner, key or empty): drafts, their traces and keys that are forgotten then.
pub const FORGET_DUE: Table<(i64, String, String, String), ()> =
    Table::new(SYSTEM, "forget_due", &["due_at", "kind", "id", "call_key"], Space::Queue);

/// Where the walks over a shard stand, by the walk's name.
pub const WALKS: Table<(String,), Vec<u8>> = Table::new(SYSTEM, "walks", &["walk"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    [offers_tables(), crate::stages::tables::tables()].concat()
}

fn offers_tables() -> Vec<TableSpec> {
    vec![
        OFFER.spec(),
        EVENTS.spec(),
        PRESETS.spec(),
        PRESETS_COUNT.spec(),
        COUNTERS.spec(),
        DUE.spec(),
        EARLY_OPINIONS.spec(),
        FEED.spec(),
        FEED_ORDINALS.spec(),
        FEED_SEEN.spec(),
        FEED_BATCHES.spec(),
        FEED_HEAD.spec(),
        FEED_SWEEPS.spec(),
        FEED_DECISIONS.spec(),
        ARCHIVE_FILES.spec(),
        ARCHIVE_IDS.spec(),
        FOLLOWERS.spec(),
        FOLLOWER_WALKS.spec(),
        ERASURES.spec(),
        ERASURES_QUEUE.spec(),
        DRAFT.spec(),
        CURRENT_DRAFT.spec(),
        STRANGERS_DRAFTS.spec(),
        DRAFT_INTENTS.spec(),
        DRAFT_MOVED.spec(),
        DRAFT_PUBLISHED.spec(),
        IDEMPOTENCY.spec(),
        FORGET_DUE.spec(),
        WALKS.spec(),
    ]
}
