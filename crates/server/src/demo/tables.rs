use prost::Message;
use serde::Serialize;
use store::{Space, Table, TableSpec};

const SYSTEM: &str = "demo";

pub(super) const GOODS: Table<(String, String), GoodRow> =
    Table::new(SYSTEM, "goods", &["seller", "good"], Space::Small);
pub(super) const COUNTS: Table<(String,), CountRow> = Table::new(SYSTEM, "counts", &["seller"], Space::Small);

pub fn tables() -> Vec<TableSpec> {
    vec![GOODS.spec(), COUNTS.spec()]
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct GoodRow {
    #[prost(string, tag = "1")]
    pub(super) title: String,
    /// In hundredths of a rouble.
    #[prost(int64, tag = "2")]
    pub(super) price: i64,
    #[prost(int64, tag = "3")]
    pub(super) version: i64,
    #[prost(int64, tag = "4")]
    pub(super) updated_at: i64,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct CountRow {
    #[prost(int64, tag = "1")]
    pub(super) changes: i64,
    #[prost(int64, tag = "2")]
    pub(super) last_change_at: i64,
}
