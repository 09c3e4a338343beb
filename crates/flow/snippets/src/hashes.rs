//! Which configuration each process works by. Every process reads a file of its own; when the files differ, so does what
//! they serve, and somebody should be told.

use std::collections::BTreeSet;

use store::{Range, Read as _, Shard};

use crate::error::Result;
use crate::metrics;
use crate::snippets::{ROLE, Snippets};
use crate::tables::{LOADED, LoadedRow};

/// More processes than there are.
const MAX_MEMBERS: usize = 4_096;

fn shard() -> Shard {
    Shard::of("snippets.loaded")
}

impl Snippets {
    /// Notes the configuration of this process for the others; rows of those long gone go.
    pub(crate) async fn note_hash(&self) -> Result<()> {
        if self.cluster().is_solo() {
            return Ok(());
        }
        let members = self.members().await?;
        let (me, now) = (self.cluster().member_id(), self.clock().now().0);
        let row = LoadedRow { hash: self.config().hash().to_owned(), loaded_at: now };
        self.store()
            .transact(shard(), async |tx| {
                for ((member,), _) in tx.scan(&LOADED, Range::all(MAX_MEMBERS)).await? {
                    if !members.contains(&member) {
                        tx.delete(&LOADED, (member,))?;
                    }
                }
                tx.put(&LOADED, (me,), &row)?;
                Ok(())
            })
            .await
    }

    /// The live processes that serve snippets by another configuration than this one.
    pub async fn differing(&self) -> Result<Vec<String>> {
        let mut differing = Vec::new();
        if !self.cluster().is_solo() {
            let members = self.members().await?;
            let rows = self.store().scan_shards(&LOADED, &[shard()], Range::all(MAX_MEMBERS)).await?;
            let config = self.config();
            for (_, (member,), row) in rows {
                if row.hash != config.hash() && members.contains(&member) {
                    differing.push(member);
                }
            }
        }
        metrics::differing(differing.len());
        Ok(differing)
    }

    async fn members(&self) -> Result<BTreeSet<String>> {
        let members = self.cluster().members().await?;
        let serving = members.into_iter().filter(|member| member.alive);
        let serving = serving.filter(|member| member.roles.iter().any(|role| role == ROLE));
        // This one may have joined a moment ago, and not be in the list yet.
        Ok(serving.map(|member| member.id).chain([self.cluster().member_id().to_owned()]).collect())
    }
}
