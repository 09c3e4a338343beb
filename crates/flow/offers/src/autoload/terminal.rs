//! How a task begins and ends.

use store::{Range, Read as _, Tx};
use wire::feeds::FeedTerminal;
use wire::feeds::terminal_result::End;
use wire::offers::sweep_row::Phase;
use wire::offers::{FeedHead, SweepRow};

use super::{Load, results};
use crate::tables::{FEED_HEAD, FEED_SWEEPS};
use crate::{Result, SWEEP_CHANNEL};

/// Sweeps of one namespace that are looked at for a hold; a newer task ends it at its first word, so there is one.
const MAX_SWEEPS: usize = 100;

/// A newer task has begun, or the task has ended: what comes late must not bring offers back.
pub(super) fn is_stale(head: &FeedHead, load: &Load) -> bool {
    load.task < head.current_task || load.task <= head.ended_task
}

/// The first word of a newer task: it becomes the current one, and an older hold is over.
pub(super) async fn begin(tx: &mut Tx, load: &Load, head: &mut FeedHead) -> Result<()> {
    if load.task <= head.current_task {
        return Ok(());
    }
    head.current_task = load.task;
    head.batches_applied = 0;
    head.live_before = head.live;
    head.tally = None;
    let (seller, namespace) = load.feed();
    let older =
        Range::all(MAX_SWEEPS).from((seller, namespace, 0_i64))?.before((seller, namespace, load.task))?;
    for ((_, _, task), row) in tx.scan(&FEED_SWEEPS, older).await? {
        if row.phase() == Phase::Held {
            finish(tx, &Load { task, ..load.clone() }, row, End::Superseded).await?;
        }
    }
    Ok(())
}

/// All batches are there: what they did not have is swept, beside the stream. Some are not: nothing goes.
pub(super) async fn terminal(tx: &mut Tx, load: &Load, terminal: &FeedTerminal) -> Result<()> {
    let mut head = tx.get(&FEED_HEAD, load.feed()).await?.unwrap_or_default();
    if is_stale(&head, load) {
        return answer_stale(tx, &head, load).await;
    }
    begin(tx, load, &mut head).await?;
    let (applied, totals) = (head.batches_applied, head.tally.unwrap_or_default());
    if applied < terminal.batches {
        tx.put(&FEED_HEAD, load.feed(), &head)?;
        return results::send_end(tx, load, End::Incomplete, totals, applied, 0).await;
    }
    head.ended_task = load.task;
    tx.put(&FEED_HEAD, load.feed(), &head)?;
    let row = SweepRow {
        limit: head.next_ordinal,
        live_before: head.live_before,
        guard_percent: if terminal.removal { 0 } else { terminal.guard_percent },
        on_missing: terminal.on_missing,
        removal: terminal.removal,
        totals: Some(totals),
        batches: applied,
        ..SweepRow::default()
    };
    put(tx, load, &row)
}

/// The task failed or was cancelled: what it did stays, nothing goes, and nothing more of it counts.
pub(super) async fn abort(tx: &mut Tx, load: &Load) -> Result<()> {
    let mut head = tx.get(&FEED_HEAD, load.feed()).await?.unwrap_or_default();
    if is_stale(&head, load) {
        return answer_stale(tx, &head, load).await;
    }
    head.ended_task = load.task;
    tx.put(&FEED_HEAD, load.feed(), &head)?;
    if head.current_task == load.task {
        let row = SweepRow { totals: head.tally, batches: head.batches_applied, ..SweepRow::default() };
        finish(tx, load, row, End::Aborted).await
    } else {
        // It never had a batch, so an older hold still waits for its person, and needs the bits of its task.
        results::send_end(tx, load, End::Aborted, wire::feeds::Tally::default(), 0, 0).await
    }
}

/// A repeat was answered before, or will be by its sweep; any other late end is told that it is late.
async fn answer_stale(tx: &mut Tx, head: &FeedHead, load: &Load) -> Result<()> {
    let (seller, namespace) = load.feed();
    let is_repeat =
        head.ended_task == load.task || tx.get(&FEED_SWEEPS, (seller, namespace, load.task)).await?.is_some();
    if is_repeat {
        return Ok(());
    }
    results::send_end(tx, load, End::Superseded, wire::feeds::Tally::default(), 0, 0).await
}

/// The task's last result; its rows are cleared from here on.
pub(super) async fn finish(tx: &mut Tx, load: &Load, mut row: SweepRow, end: End) -> Result<()> {
    let totals = row.totals.unwrap_or_default();
    results::send_end(tx, load, end, totals, row.batches, row.steps).await?;
    row.set_phase(Phase::Clearing);
    row.set_end(end);
    put(tx, load, &row)
}

/// Keeps the sweep and wakes the sweeper.
pub(super) fn put(tx: &mut Tx, load: &Load, row: &SweepRow) -> Result<()> {
    tx.put(&FEED_SWEEPS, (&*load.seller, &*load.namespace, load.key()), row)?;
    tx.wake(SWEEP_CHANNEL);
    Ok(())
}
