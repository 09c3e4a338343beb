use serde::Serialize;
use store::{Shard, Space, Table, TableSpec};

use crate::{tally, walk, work};

/// One row per process, in [`members_shard`].
pub(crate) const MEMBERS: Table<(String,), MemberRow> =
    Table::new("cluster", "members", &["member"], Space::Small);
/// One row per work token, in the token's shard.
pub(crate) const TOKENS: Table<(String,), TokenRow> =
    Table::new("cluster", "tokens", &["role"], Space::Small);
/// One row per lock, in the shard of what it protects.
pub(crate) const LOCKS: Table<(String, String), LockRow> =
    Table::new("cluster", "locks", &["context", "key"], Space::Small);
/// One row per limit over processes, in the shard of its name.
pub(crate) const LIMITS: Table<(String,), LimitRow> =
    Table::new("cluster", "limits", &["name"], Space::Small);

/// All tables of this crate, for the schema.
pub fn tables() -> Vec<TableSpec> {
    vec![
        MEMBERS.spec(),
        TOKENS.spec(),
        LOCKS.spec(),
        LIMITS.spec(),
        work::ATTEMPTS.spec(),
        walk::WALKS.spec(),
        tally::TALLIES.spec(),
    ]
}

/// Where all heartbeats live. One shard for all, so that observing everybody is one short scan however many shards
/// and servers there are; the rows are few, and written without the shard's turn.
pub fn members_shard() -> Shard {
    Shard::of("cluster.members")
}

/// A process as it describes itself.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub(crate) struct MemberRow {
    #[prost(message, repeated, tag = "1")]
    pub(crate) roles: Vec<RoleRow>,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
    /// When it joined, in microseconds.
    #[prost(int64, tag = "3")]
    pub(crate) since: i64,
    /// Grows whenever the process lost its lease: what an earlier session held is free for all.
    #[prost(uint64, tag = "4")]
    pub(crate) session: u64,
    /// Grows with every renewal.
    #[prost(uint64, tag = "5")]
    pub(crate) beat: u64,
    /// It has given everything up.
    #[prost(bool, tag = "6")]
    pub(crate) leaving: bool,
}

/// A role that a process works for.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub(crate) struct RoleRow {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(uint32, tag = "2")]
    pub(crate) shards: u32,
    /// How many of its tokens the process held at the last heartbeat; for people.
    #[prost(uint32, tag = "3")]
    pub(crate) held: u32,
}

/// Who may work on this shard for a role.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub(crate) struct TokenRow {
    /// Empty: nobody.
    #[prost(string, tag = "1")]
    pub(crate) owner: String,
    #[prost(uint64, tag = "2")]
    pub(crate) session: u64,
    /// Grows by one whenever the token is taken.
    #[prost(uint64, tag = "3")]
    pub(crate) epoch: u64,
    /// When it last changed hands, in microseconds; for people.
    #[prost(int64, tag = "4")]
    pub(crate) since: i64,
}

/// Who holds a lock.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub(crate) struct LockRow {
    #[prost(string, tag = "1")]
    pub(crate) owner: String,
    /// Tells this taking of the lock from every other.
    #[prost(uint64, tag = "2")]
    pub(crate) nonce: u64,
    /// When it was taken, in microseconds.
    #[prost(int64, tag = "3")]
    pub(crate) since: i64,
}

/// Who has leased how much of a limit.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub(crate) struct LimitRow {
    #[prost(message, repeated, tag = "1")]
    pub(crate) shares: Vec<ShareRow>,
    /// Grows whenever somebody gets slots.
    #[prost(uint64, tag = "2")]
    pub(crate) turn: u64,
}

/// One process's part of a limit; worth as much as its owner's heartbeat.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub(crate) struct ShareRow {
    #[prost(string, tag = "1")]
    pub(crate) member: String,
    #[prost(uint64, tag = "2")]
    pub(crate) session: u64,
    /// How many calls it has under way or waiting.
    #[prost(uint32, tag = "3")]
    pub(crate) demand: u32,
    /// How many calls it may have under way.
    #[prost(uint32, tag = "4")]
    pub(crate) slots: u32,
    /// How many calls it may begin in a second.
    #[prost(double, tag = "5")]
    pub(crate) rate: f64,
    /// The turn at which it last got slots.
    #[prost(uint64, tag = "6")]
    pub(crate) served: u64,
}
