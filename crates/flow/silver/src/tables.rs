//! The tables of system `silver`, all in the shard of the business; settings in the shard of their key.

use kit::Timestamp;
use serde::Serialize;
use store::{Space, Table, TableSpec};
use wire::silver::{CutRow, Debt, GoldRow, SettingRow, SskuRow};

const SYSTEM: &str = "silver";

/// (business, shop_sku, source type, source id).
pub const SSKU: Table<(u32, String, String, String), SskuRow> =
    Table::new(SYSTEM, "ssku", &["business_id", "shop_sku", "source_type", "source_id"], Space::Large);
/// (business, shop_sku, shop): in which shops an SSKU exists.
pub const EXISTENCE: Table<(u32, String, u32), ()> =
    Table::new(SYSTEM, "ssku_existence", &["business_id", "shop_sku", "shop_id"], Space::Small);
/// What was left out, to be read again when it would pass.
pub const CUTS: Table<(u32, String), CutRow> =
    Table::new(SYSTEM, "silver_cut", &["business_id", "shop_sku"], Space::Small);
/// How far a shard was gone over since the settings changed: `cuts` for what would pass now, `gold` for other rules.
pub const SETTINGS_WALKS: Table<(String,), SettingsWalkRow> =
    Table::new(SYSTEM, "settings_walks", &["walk"], Space::Small);
/// Businesses of which messages were lost: everything of theirs is read again from united.
pub const REREADS: Table<(u32,), RereadRow> = Table::new(SYSTEM, "rereads", &["business_id"], Space::Queue);
/// What could not be imported, to be read again.
pub const FAILURES: Table<(u32, String), Debt> =
    Table::new(SYSTEM, "silver_failures", &["business_id", "shop_sku"], Space::Small);
pub const FAILURES_DUE: Table<(Timestamp, u32, String), ()> =
    Table::new(SYSTEM, "silver_failures_due", &["not_before", "business_id", "shop_sku"], Space::Queue);
pub const GOLD: Table<(u32, String), GoldRow> =
    Table::new(SYSTEM, "gold", &["business_id", "shop_sku"], Space::Large);
/// SSKUs whose gold must be made again.
pub const GOLD_QUEUE: Table<(u32, String), QueuedRow> =
    Table::new(SYSTEM, "gold_queue", &["business_id", "shop_sku"], Space::Queue);
/// SSKUs that ERP must hear of, once their gold is made.
pub const ERP_QUEUE: Table<(u32, String), ()> =
    Table::new(SYSTEM, "erp_queue", &["business_id", "shop_sku"], Space::Queue);
/// By key.
pub const SETTINGS: Table<(String,), SettingRow> = Table::new(SYSTEM, "settings", &["key"], Space::Small);
/// (key, version): what a setting was.
pub const SETTINGS_HISTORY: Table<(String, i64), SettingRow> =
    Table::new(SYSTEM, "settings_history", &["key", "version"], Space::Small);

/// The tables to declare in the schema of every process.
pub fn tables() -> Vec<TableSpec> {
    vec![
        SSKU.spec(),
        EXISTENCE.spec(),
        CUTS.spec(),
        SETTINGS_WALKS.spec(),
        REREADS.spec(),
        FAILURES.spec(),
        FAILURES_DUE.spec(),
        GOLD.spec(),
        GOLD_QUEUE.spec(),
        ERP_QUEUE.spec(),
        SETTINGS.spec(),
        SETTINGS_HISTORY.spec(),
    ]
}

#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct SettingsWalkRow {
    /// All rows were looked at under these settings.
    #[prost(int64, tag = "1")]
    pub settings_version: i64,
    /// The walk under way is for these, and stands behind this key; business 0: none is.
    #[prost(int64, tag = "2")]
    pub walking_version: i64,
    #[prost(uint32, tag = "3")]
    pub after_business: u32,
    #[prost(string, tag = "4")]
    pub after_shop_sku: String,
}

/// Why a key waits.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct QueuedRow {
    /// The trace that goes on with it; empty: none.
    #[prost(string, tag = "1")]
    pub traceparent: String,
}

/// A business that is read again: first what united has, then what only silver has.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct RereadRow {
    #[prost(int64, tag = "1")]
    pub since: i64,
    /// United's offers are read, and it stands in silver's own.
    #[prost(bool, tag = "2")]
    pub in_silver: bool,
    /// Behind this offer; empty: at the beginning.
    #[prost(string, tag = "3")]
    pub after: String,
}
