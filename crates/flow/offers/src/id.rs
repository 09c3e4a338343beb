//! New ids.

use model::OfferId;
use rand::RngExt as _;
use store::{Read as _, Tx};

use crate::Result;
use crate::archive::ids;
use crate::tables::{CONTENT, OFFER};

/// So many ids that no offer of the shard has or ever had.
pub async fn fresh(tx: &Tx, count: usize) -> Result<Vec<OfferId>> {
    let mut found: Vec<OfferId> = Vec::with_capacity(count);
    while found.len() < count {
        let mut candidates: Vec<_> = (found.len()..count)
            .map(|_| OfferId::new(tx.shard().number(), rand::rng().random()))
            .filter(|id| !found.contains(id))
            .collect();
        candidates.sort_unstable();
        candidates.dedup();
        let taken = tx.get_many(&OFFER, candidates.iter().map(|id| (id.raw(), CONTENT))).await?;
        let raw: Vec<_> = candidates.iter().map(|id| id.raw()).collect();
        let archived = ids::known(tx, &raw).await?;
        let all = candidates.into_iter().zip(taken).zip(archived);
        let free = all.filter(|((_, taken), archived)| taken.is_none() && archived.is_none());
        found.extend(free.map(|((id, _), _)| id));
    }
    Ok(found)
}
