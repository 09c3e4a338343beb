//! The heartbeat: renewing the own lease, and looking at the others.

use std::sync::Arc;
use std::time::Duration;

use store::{Range, Read as _};
use tokio::time::{Instant, timeout};

use crate::cluster::{Inner, MAX_MEMBERS, State};
use crate::hands::CHANNEL;
use crate::tables::{MEMBERS, MemberRow, members_shard};
use crate::{Error, Result, metrics};

/// Writes the member row for the first time.
pub(crate) async fn register(inner: &Inner) -> Result<()> {
    renew(inner).await
}

/// Beats until the member leaves or the tasks end.
pub(crate) async fn run(inner: Arc<Inner>) {
    let beat = inner.options.beat;
    let mut next = Instant::now() + beat;
    let mut look = Instant::now() + beat;
    while !inner.ended.is_called() {
        let mut told = false;
        tokio::select! {
            () = inner.ended.called() => return,
            () = tokio::time::sleep_until(next.min(look)) => {}
            () = inner.look.notified() => told = true,
        }
        let now = Instant::now();
        let due = now >= next || inner.state().news;
        // Side by side, so that a slow look does not cost the lease.
        let (renewed, looked) =
            tokio::join!(async { if due { renew(&inner).await } else { Ok(()) } }, async {
                if told || now >= look { observe(&inner).await } else { Ok(()) }
            },);
        if due {
            next = after(now, &renewed, beat, "heartbeat", &inner.id);
        }
        if let Err(error) = looked {
            look = after(now, &Err(error), beat, "look at the members", &inner.id);
        } else {
            look = inner.state().observer.next_read(now);
        }
        clear_away(&inner).await;
    }
}

/// When to do it again: at the next beat, sooner after a failure.
fn after(began: Instant, outcome: &Result<()>, beat: Duration, what: &str, member: &str) -> Instant {
    match outcome {
        Ok(()) => began + beat,
        Err(Error::Left) => began + beat,
        Err(error) => {
            tracing::warn!(member, "the {what} failed: {error}");
            Instant::now() + beat / 4
        }
    }
}

/// Writes the member row with the next beat. The lease counts from the start of the write.
pub(crate) async fn renew(inner: &Inner) -> Result<()> {
    let _turn = inner.row_turn.lock().await;
    loop {
        let (row, news) = {
            let mut state = inner.state();
            if state.left {
                return Err(Error::Left);
            }
            if state.lease_until.is_some() && state.lease_left().is_zero() {
                lapse(inner, &mut state);
            }
            state.beat += 1;
            (member_row(inner, &state), std::mem::take(&mut state.news))
        };
        let began = Instant::now();
        let written = timeout(inner.options.lease / 2, write(inner, &row, news)).await;
        let written =
            written.unwrap_or_else(|_| Err(store::Error::unknown("the store did not answer in time").into()));
        let mut state = inner.state();
        if let Err(error) = written {
            state.news |= news;
            metrics::beat("failed");
            return Err(error);
        }
        metrics::beat("written");
        metrics::held(&state.tokens);
        // A lease that ended while it was being renewed is over all the same: others may have seen it end.
        if state.lease_until.is_none_or(|until| until > Instant::now()) {
            state.lease_until = Some(began + inner.options.lease);
            return Ok(());
        }
        lapse(inner, &mut state);
    }
}

/// The lease ended: what the session held is free for all, and a new session begins with nothing.
fn lapse(inner: &Inner, state: &mut State) {
    tracing::warn!(
        member = inner.id,
        session = state.session,
        "the lease ended; all work tokens are given up"
    );
    metrics::lapsed();
    state.session += 1;
    state.lease_until = None;
    state.news = true;
    state.tokens.clear();
    inner.replan.notify_one();
}

fn member_row(inner: &Inner, state: &State) -> MemberRow {
    MemberRow {
        roles: state.tokens.role_rows(),
        version: inner.options.version.clone(),
        since: inner.since.0,
        session: state.session,
        beat: state.beat,
        leaving: state.left,
    }
}

/// News are written with a wake-up for the others, a mere beat without.
async fn write(inner: &Inner, row: &MemberRow, news: bool) -> Result<()> {
    let id = inner.id.as_str();
    if !news {
        return Ok(inner.store.put_alone(&MEMBERS, members_shard(), (id,), row).await?);
    }
    let alone = inner.options.alone;
    inner
        .store
        .transact(members_shard(), async |tx| {
            if alone && row.beat == 1 {
                for ((other,), _) in tx.scan(&MEMBERS, Range::all(MAX_MEMBERS)).await? {
                    tx.delete(&MEMBERS, (other,))?;
                }
            }
            tx.put(&MEMBERS, (id,), row)?;
            tx.wake(CHANNEL);
            Ok(())
        })
        .await
}

/// Reads all heartbeats in one question.
pub(crate) async fn observe(inner: &Inner) -> Result<()> {
    let began = Instant::now();
    let home = [members_shard()];
    let reading = inner.store.scan_shards(&MEMBERS, &home, Range::all(MAX_MEMBERS));
    let rows = timeout(inner.options.lease / 2, reading)
        .await
        .map_err(|_| store::Error::unavailable("the store did not answer in time"))??;
    let rows = rows.into_iter().map(|(_, (id,), row)| (id, row)).collect();
    let mut state = inner.state();
    let changed = state.observer.read(rows, began, Instant::now());
    if changed || state.beat == 1 {
        let live: Vec<_> = state.observer.live().map(|(id, _)| id).collect();
        tracing::info!(member = inner.id, others = ?live, "the live members changed");
        inner.replan(&mut state);
    }
    Ok(())
}

/// Removes the rows of those long gone.
async fn clear_away(inner: &Inner) {
    let gone = inner.state().observer.forgettable(Instant::now());
    if gone.is_empty() {
        return;
    }
    let cleared = inner
        .store
        .transact(members_shard(), async |tx| {
            for (id, beat) in &gone {
                if tx.get(&MEMBERS, (id,)).await?.is_some_and(|row| row.beat == *beat) {
                    tx.delete(&MEMBERS, (id,))?;
                }
            }
            Ok::<_, Error>(())
        })
        .await;
    if let Err(error) = cleared {
        tracing::warn!(member = inner.id, "rows of members long gone stay for now: {error}");
    }
}

pub(crate) async fn leave(inner: &Inner) -> Result<()> {
    let calls_end = {
        let mut state = inner.state();
        if state.left {
            return Ok(());
        }
        // No new work from here on; what is under way under a hold ends by itself.
        state.lease_until = None;
        state.left = true;
        state.tokens.clear();
        Instant::now() + state.tokens.busy_for(Instant::now())
    };
    inner.ended.call();
    while Instant::now() < calls_end && !inner.state().tokens.busy_for(Instant::now()).is_zero() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _turn = inner.row_turn.lock().await;
    let row = {
        let mut state = inner.state();
        state.beat += 1;
        member_row(inner, &state)
    };
    write(inner, &row, true).await?;
    tracing::info!(member = inner.id, "left the cluster");
    Ok(())
}
