use std::collections::BTreeMap;

use kit::Timestamp;
use serde::Serialize;
use store::{Range, Shard};
use tokio::time::Instant;

use crate::tables::{MEMBERS, MemberRow, TOKENS, members_shard};
use crate::{Cluster, Result};

/// Most processes that are looked at.
pub(crate) const MAX_MEMBERS: usize = 4_096;

/// A process as people see it.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    pub id: String,
    pub version: String,
    pub since: Timestamp,
    pub alive: bool,
    pub leaving: bool,
    pub roles: Vec<String>,
    /// How many work tokens it held at its last heartbeat, by role.
    pub tokens: BTreeMap<String, u32>,
}

impl Cluster {
    /// Everybody who is registered, by id.
    pub async fn members(&self) -> Result<Vec<Member>> {
        let rows =
            self.inner.store.scan_shards(&MEMBERS, &[members_shard()], Range::all(MAX_MEMBERS)).await?;
        let mut state = self.inner.state();
        let (me, now) = (&self.inner.id, Instant::now());
        let member = |(_, (id,), row): (Shard, (String,), MemberRow)| Member {
            alive: !row.leaving && (id == *me || !state.observer.gone(&id, row.session, now)),
            leaving: row.leaving,
            version: row.version,
            since: Timestamp(row.since),
            roles: row.roles.iter().map(|role| role.name.clone()).collect(),
            tokens: row.roles.into_iter().map(|role| (role.name, role.held)).collect(),
            id,
        };
        Ok(rows.into_iter().map(member).collect())
    }

    /// Whether some living process holds the role's work token of a shard.
    pub async fn is_served(&self, role: &str, shard: Shard) -> Result<bool> {
        if self.holds(role, shard) {
            return Ok(true);
        }
        let token = self.inner.store.get(&TOKENS, shard, (role,)).await?.unwrap_or_default();
        let gone = |owner: &str| self.inner.state().observer.gone(owner, token.session, Instant::now());
        Ok(!token.owner.is_empty() && token.owner != self.inner.id && !gone(&token.owner))
    }
}
