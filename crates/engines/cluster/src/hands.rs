//! Tokens change hands: the transactions that make what is held follow the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use store::{Range, Read as _, Shard, WakeReceiver};
use tokio::time::{Instant, timeout};

use crate::cluster::Inner;
use crate::tables::{TOKENS, TokenRow, members_shard};
use crate::tokens::{Me, ShardWork};
use crate::{Error, Result, metrics};

/// Wakes everybody when a token was given back, a member came or went, or its roles changed.
pub(crate) const CHANNEL: &str = "cluster";

/// Most roles of one shard that are looked at.
const MAX_ROLES: usize = 4_096;

/// Follows the plan until the member leaves or the tasks end.
pub(crate) async fn run(inner: Arc<Inner>, wakes: WakeReceiver) {
    let mut wait = inner.options.beat;
    loop {
        let mut woken = None;
        tokio::select! {
            biased;
            () = inner.ended.called() => return,
            () = inner.replan.notified() => {}
            () = tokio::time::sleep(wait) => {}
            shards = wakes.woken() => {
                if shards.contains(&members_shard()) {
                    inner.look.notify_one();
                }
                woken = Some(shards);
            }
        }
        wait = match follow(&inner, woken).await {
            Ok(()) => inner.options.beat,
            Err(error) => {
                tracing::warn!(member = inner.id, "work tokens could not be taken or given back: {error}");
                inner.options.beat / 4
            }
        };
    }
}

/// One round: everything that separates what is held from the plan, one transaction per shard. Nothing to do costs
/// nothing; what others hold on to is looked at in one question. After a wake-up only the woken shards can have news.
async fn follow(inner: &Arc<Inner>, woken: Option<BTreeSet<Shard>>) -> Result<()> {
    let (mut work, session) = {
        let mut state = inner.state();
        if state.lease_left().is_zero() {
            return Ok(());
        }
        (state.tokens.work(Instant::now()), state.session)
    };
    if let Some(woken) = woken {
        work.retain(|shard, _| woken.contains(shard));
    }
    if work.is_empty() {
        return Ok(());
    }
    let work = worth_trying(inner, work).await?;
    let changes = work.into_iter().map(|(shard, work)| change(inner.clone(), session, shard, work));
    let mut changes = futures::stream::iter(changes).buffer_unordered(inner.options.parallel.max(1));
    let mut outcome = Ok(());
    while let Some(changed) = changes.next().await {
        outcome = outcome.and(changed);
    }
    outcome
}

/// Leaves out the tokens that others hold rightly.
async fn worth_trying(
    inner: &Inner,
    mut work: BTreeMap<Shard, ShardWork>,
) -> Result<BTreeMap<Shard, ShardWork>> {
    let shards: Vec<_> =
        work.iter().filter(|(_, work)| !work.take.is_empty()).map(|(shard, _)| *shard).collect();
    if shards.is_empty() {
        return Ok(work);
    }
    let rows = inner.store.scan_shards(&TOKENS, &shards, Range::all(MAX_ROLES)).await?;
    let mut state = inner.state();
    let now = Instant::now();
    for (shard, (role,), row) in rows {
        let held = !row.owner.is_empty()
            && row.owner != inner.id
            && !state.observer.gone(&row.owner, row.session, now);
        if held && let Some(work) = work.get_mut(&shard) {
            work.take.retain(|wanted| *wanted != role);
        }
    }
    work.retain(|_, work| !work.take.is_empty() || !work.release.is_empty());
    Ok(work)
}

/// One shard's transaction for all its roles.
async fn change(inner: Arc<Inner>, session: u64, shard: Shard, mut work: ShardWork) -> Result<()> {
    {
        let mut state = inner.state();
        // The plan may have changed since the round began.
        work.take.retain(|role| state.tokens.is_mine(role, shard));
        let nothing_left = work.take.is_empty() && work.release.is_empty();
        if nothing_left || state.session != session || state.lease_left().is_zero() {
            return Ok(());
        }
        state.tokens.unsure(shard, &work.take);
        state.tokens.unsure(shard, &work.release);
    }
    // One stuck shard must not keep all others waiting; what became of it shows at the next try.
    let outcomes = timeout(inner.options.lease, transact(&inner, session, shard, &work))
        .await
        .map_err(|_| store::Error::unknown("the store did not answer in time"))??;
    let mut state = inner.state();
    if state.session == session && !state.left {
        for (role, epoch) in outcomes {
            state.tokens.settled(&role, shard, epoch);
        }
    }
    Ok(())
}

/// Takes and gives back; says for each role with which epoch the row names this process now.
async fn transact(
    inner: &Inner,
    session: u64,
    shard: Shard,
    work: &ShardWork,
) -> Result<Vec<(String, Option<u64>)>> {
    let me = Me { id: &inner.id, session };
    let now = inner.clock.now().0;
    let roles: Vec<&String> = work.take.iter().chain(&work.release).collect();
    inner
        .store
        .transact(shard, async |tx| {
            let rows = tx.get_many(&TOKENS, roles.iter().map(|role| (role.as_str(),))).await?;
            let mut outcomes = Vec::with_capacity(roles.len());
            for (index, (role, row)) in roles.iter().zip(rows).enumerate() {
                if index < work.take.len() {
                    let before = row.clone().unwrap_or_default();
                    let gone =
                        |owner: &str, session| inner.state().observer.gone(owner, session, Instant::now());
                    let after = me.take(row, now, gone);
                    if let Some(after) = after.as_ref().filter(|after| **after != before) {
                        tx.put(&TOKENS, (role.as_str(),), after)?;
                        metrics::taken(role, !before.owner.is_empty());
                    }
                    outcomes.push(((*role).clone(), after.map(|after| after.epoch)));
                } else {
                    if let Some(row) = row.filter(|row| me.owns(row)) {
                        let free = TokenRow { owner: String::new(), session: 0, since: now, ..row };
                        tx.put(&TOKENS, (role.as_str(),), &free)?;
                        tx.wake(CHANNEL);
                    }
                    outcomes.push(((*role).clone(), None));
                }
            }
            Ok::<_, Error>(outcomes)
        })
        .await
}
