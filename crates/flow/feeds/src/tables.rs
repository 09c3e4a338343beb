//! The tables of Feeds, all in the seller's shard.

use store::{Space, Table, TableSpec};
use wire::feeds::{
    FeedCategory, FeedRow, FeedSurvey, LoaderTask, OfferError, OldTask, QueueRow, QuotaRow, Statistics, Task,
    WebhookRow,
};

const SYSTEM: &str = "feeds";

pub const FEED: Table<(String, String), FeedRow> =
    Table::new(SYSTEM, "feed", &["seller_id", "namespace"], Space::Small);

/// (…, the seller's own category) → what it is by the catalog.
pub const FEED_CATEGORIES: Table<(String, String, String), FeedCategory> =
    Table::new(SYSTEM, "feed_categories", &["seller_id", "namespace", "seller_category"], Space::Small);
/// The file by which the feed's categories were decided last.
pub const FEED_SURVEYS: Table<(String, String), FeedSurvey> =
    Table::new(SYSTEM, "feed_surveys", &["seller_id", "namespace"], Space::Small);

/// A row for each feed that is fetched; it comes and goes with the feed's url.
pub const FEED_LOADER_TASK: Table<(String, String), LoaderTask> =
    Table::new(SYSTEM, "feed_loader_task", &["seller_id", "namespace"], Space::Small);
/// (next fetch, seller, namespace): where `feed_loader_task` says that it stands.
pub const FEED_DUE: Table<(i64, String, String), ()> =
    Table::new(SYSTEM, "feed_due", &["next_fetch_at", "seller_id", "namespace"], Space::Queue);

pub const TASKS: Table<(String, String, i64), Task> =
    Table::new(SYSTEM, "tasks", &["seller_id", "namespace", "task_id"], Space::Small);
/// The loads of a feed that are still to be processed, in their order.
pub const TASK_QUEUE: Table<(String, String, i64), QueueRow> =
    Table::new(SYSTEM, "task_queue", &["seller_id", "namespace", "task_id"], Space::Small);
/// (not before, seller, namespace, task) → bytes of the file: the same loads by the moment they may be taken. Those of a
/// paused feed have no row.
pub const TASK_DUE: Table<(i64, String, String, i64), i64> =
    Table::new(SYSTEM, "task_due", &["not_before", "seller_id", "namespace", "task_id"], Space::Queue);
/// (moment, seller, namespace, task): when a load has waited too long for results, or a dry run is forgotten.
pub const TASK_TIMERS: Table<(i64, String, String, i64), ()> =
    Table::new(SYSTEM, "task_timers", &["due_at", "seller_id", "namespace", "task_id"], Space::Queue);

/// (…, task, kind, number, part): results that are counted.
pub const OFFER_BATCHES: Table<(String, String, i64, String, i64, u32), ()> = Table::new(
    SYSTEM,
    "offer_batches",
    &["seller_id", "namespace", "task_id", "kind", "batch_id", "part"],
    Space::Small,
);
pub const FEED_STATISTICS: Table<(String, String, i64), Statistics> =
    Table::new(SYSTEM, "feed_statistics", &["seller_id", "namespace", "task_id"], Space::Small);

pub const OFFER_ERRORS: Table<(String, String, i64, String, i64), OfferError> = Table::new(
    SYSTEM,
    "offer_errors",
    &["seller_id", "namespace", "task_id", "external_id", "error_id"],
    Space::Small,
);
pub const OFFER_ERRORS_BY_LEVEL: Table<(String, String, i64, u32, String, i64), ()> = Table::new(
    SYSTEM,
    "offer_errors_by_level",
    &["seller_id", "namespace", "task_id", "error_level", "external_id", "error_id"],
    Space::Small,
);
/// (…, ten times the type and the level, …): by type, with a level or without.
pub const OFFER_ERRORS_BY_TYPE: Table<(String, String, i64, u32, String, i64), ()> = Table::new(
    SYSTEM,
    "offer_errors_by_type",
    &["seller_id", "namespace", "task_id", "error_type_level", "external_id", "error_id"],
    Space::Small,
);

/// Loads to forget.
pub const OLD_TASKS: Table<(String, String, i64), OldTask> =
    Table::new(SYSTEM, "old_tasks", &["seller_id", "namespace", "task_id"], Space::Queue);

/// (moment, seller, namespace, event): what is still to be told.
pub const WEBHOOKS: Table<(i64, String, String, String), WebhookRow> =
    Table::new(SYSTEM, "webhooks", &["due_at", "seller_id", "namespace", "event_id"], Space::Queue);

pub const QUOTAS: Table<(String,), QuotaRow> = Table::new(SYSTEM, "quotas", &["seller_id"], Space::Small);

/// The moment of a seller's last erasure that was carried out here.
pub const ERASED: Table<(String,), i64> = Table::new(SYSTEM, "erased", &["seller_id"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    vec![
        FEED.spec(),
        FEED_CATEGORIES.spec(),
        FEED_SURVEYS.spec(),
        FEED_LOADER_TASK.spec(),
        FEED_DUE.spec(),
        TASKS.spec(),
        TASK_QUEUE.spec(),
        TASK_DUE.spec(),
        TASK_TIMERS.spec(),
        OFFER_BATCHES.spec(),
        FEED_STATISTICS.spec(),
        OFFER_ERRORS.spec(),
        OFFER_ERRORS_BY_LEVEL.spec(),
        OFFER_ERRORS_BY_TYPE.spec(),
        OLD_TASKS.spec(),
        WEBHOOKS.spec(),
        QUOTAS.spec(),
        ERASED.spec(),
    ]
}
