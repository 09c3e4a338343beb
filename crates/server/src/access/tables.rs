//! The tables of system `access`. A token lives in the shard of its id; an audit entry in the shard of what was done,
//! or of its own id when that has none.

use kit::Timestamp;
use prost::Message;
use serde::Serialize;
use store::{Space, Table, TableSpec};

const SYSTEM: &str = "access";

pub(super) const TOKENS: Table<(String,), TokenRow> = Table::new(SYSTEM, "tokens", &["token"], Space::Small);
/// One row, [`TOKENS_MADE`]: whether a token was ever made.
pub(super) const STATE: Table<(String,), bool> = Table::new(SYSTEM, "state", &["name"], Space::Small);
pub(super) const AUDIT: Table<(Timestamp, String), AuditRow> =
    Table::new(SYSTEM, "audit", &["acted_at", "act"], Space::Small);

pub(super) const TOKENS_MADE: &str = "tokens_made";

pub fn tables() -> Vec<TableSpec> {
    vec![TOKENS.spec(), STATE.spec(), AUDIT.spec()]
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct TokenRow {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) scopes: Vec<String>,
    /// BLAKE3 of the secret, which has 256 random bits: nothing slower is needed.
    #[prost(bytes = "vec", tag = "3")]
    #[serde(skip)]
    pub(super) secret_hash: Vec<u8>,
    #[prost(int64, tag = "4")]
    pub(super) created_at: i64,
    #[prost(string, tag = "5")]
    pub(super) created_by: String,
    #[prost(int64, optional, tag = "6")]
    pub(super) revoked_at: Option<i64>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct AuditRow {
    #[prost(string, tag = "1")]
    pub(super) who: String,
    /// What was done, such as `token.revoke`.
    #[prost(string, tag = "2")]
    pub(super) what: String,
    /// To what.
    #[prost(string, tag = "3")]
    pub(super) whom: String,
}
