//! The heartbeat: renewing the own lease, and looking at the others.

use std::sync::Arc;
use std::time::Duration;

use store::{Range, Read as _};
use tokio::time::{Instant, timeout};

use crate::cluster::{Inner, Lease, State};
use crate::hands::CHANNEL;
use crate::members::MAX_MEMBERS;
use crate::tables::{MEMBERS, MemberRow, members_shard};
use crate::{Error, Kind, Result, metrics};

/// Who cannot say goodbye after so many tries is seen dead in the time of a lease anyway.
const LEAVE_TRIES: u32 = 3;

/// Writes the member row for the first time. Who is alone on the store clears the others' rows away first.
pub(crate) async fn register(inner: &Inner) -> Result<()> {
    if inner.options.alone {
        let clearing = inner.store.transact(members_shard(), async |tx| {
            for ((other,), _) in tx.scan(&MEMBERS, Range::all(MAX_MEMBERS)).await? {
                tx.delete(&MEMBERS, (other,))?;
            }
            Ok::<_, Error>(())
        });
        clearing.await?;
    }
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
            biased;
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
        Err(error) if error.kind() == Kind::Left => began + beat,
        Err(error) => {
            tracing::warn!(member, "the {what} failed: {error}");
            Instant::now() + beat / 4
        }
    }
}

pub(crate) fn left() -> Error {
    Error::new(Kind::Left, "this process has left the cluster")
}

/// Writes the member row with the next beat. The lease counts from the start of the write.
pub(crate) async fn renew(inner: &Inner) -> Result<()> {
    let _turn = inner.row_turn.lock().await;
    loop {
        let (row, news) = {
            let mut state = inner.state();
            if state.left {
                return Err(left());
            }
            if state.lease.is_some() && state.lease_left().is_zero() {
                lapse(inner, &mut state);
            }
            state.beat += 1;
            (member_row(inner, &state), std::mem::take(&mut state.news))
        };
        let lease = Lease::begin(&inner.clock, inner.options.lease);
        let written = write(inner, &row).await;
        {
            let mut state = inner.state();
            if let Err(error) = written {
                state.news |= news;
                metrics::beat("failed");
                return Err(error);
            }
            metrics::beat("written");
            metrics::held(&state.tokens);
            if state.left {
                return Err(left());
            }
            // A lease that ended while it was being renewed is over all the same: others may have seen it end.
            if state.lease.is_some() && state.lease_left().is_zero() {
                lapse(inner, &mut state);
                continue;
            }
            state.lease = Some(lease);
        }
        if news {
            tell(inner).await;
        }
        return Ok(());
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
    state.lease = None;
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

/// On PostgreSQL this goes over a connection of its own and takes no lock, so no other work can cost the lease.
async fn write(inner: &Inner, row: &MemberRow) -> Result<()> {
    let writing = inner.store.put_alone(&MEMBERS, members_shard(), (inner.id.as_str(),), row);
    timeout(inner.options.lease / 2, writing)
        .await
        .map_err(|_| store::Error::unknown("the store did not answer in time"))?
}

/// Wakes the others, so that they look at once. Should it fail, they look at their next beat.
async fn tell(inner: &Inner) {
    let waking = inner.store.transact(members_shard(), async |tx| {
        tx.wake(CHANNEL);
        Ok::<_, store::Error>(())
    });
    match timeout(inner.options.beat / 2, waking).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(member = inner.id, "the others learn of a change later: {error}"),
        Err(_) => tracing::warn!(member = inner.id, "the others learn of a change later: no answer"),
    }
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

/// No new work from here on; calls under way end by themselves; then the row says that everything is free.
pub(crate) async fn leave(inner: &Inner) -> Result<()> {
    let calls_end = {
        let mut state = inner.state();
        state.lease = None;
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
    let mut tries = 0;
    while let Err(error) = write(inner, &row).await {
        tries += 1;
        if tries == LEAVE_TRIES {
            return Err(error);
        }
        tokio::time::sleep(inner.options.beat / 4).await;
    }
    tell(inner).await;
    tracing::info!(member = inner.id, "left the cluster");
    Ok(())
}
