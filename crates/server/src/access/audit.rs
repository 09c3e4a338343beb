use kit::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use store::{Range, Shard, Store, Tx};

use super::Access;
use super::tables::{AUDIT, AuditRow};

/// Something an admin does: `what` as `noun.verb`, and to what.
#[derive(Clone, Debug)]
pub struct Audited<'a> {
    pub what: &'a str,
    pub whom: &'a str,
}

#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditEntry {
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub who: String,
    pub what: String,
    pub whom: String,
}

/// Notes the act in the transaction that does it.
pub fn note(tx: &mut Tx, clock: &Clock, access: &Access, act: &Audited<'_>) -> store::Result<()> {
    let row = AuditRow { who: access.who().to_owned(), what: act.what.to_owned(), whom: act.whom.to_owned() };
    tx.put(&AUDIT, (clock.now(), kit::random_id().as_str()), &row)
}

/// Notes an act that is not one transaction of ours, before it is done.
pub async fn audited(store: &Store, clock: &Clock, access: &Access, act: &Audited<'_>) -> store::Result<()> {
    store.transact(Shard::of(act.whom), async |tx| note(tx, clock, access, act)).await
}

/// The newest acts, the last first.
pub async fn newest(store: &Store, limit: usize) -> store::Result<Vec<AuditEntry>> {
    let shards: Vec<_> = Shard::all().collect();
    let mut rows = store.scan_shards(&AUDIT, &shards, Range::all(limit).reversed()).await?;
    rows.sort_by(|(_, a, _), (_, b, _)| b.cmp(a));
    rows.truncate(limit);
    let entry = |(_, (at, _), AuditRow { who, what, whom })| AuditEntry { at, who, what, whom };
    Ok(rows.into_iter().map(entry).collect())
}
