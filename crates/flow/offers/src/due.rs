//! What time does to offers: the active expire, and those that ended long ago leave for the archive.
//!
//! Every offer that time will touch has a row in `due`, kept by [`crate::changes`]. The holder of a shard's work token in
//! role [`ROLE`] takes the rows that are due, from where it last came to, and looks at each offer again in the
//! transaction that acts: a row that is too early by the settings of today is written anew, one without an offer goes.
//!
//! Expiry is prompt. The archive is not: offers wait in memory, as keys, until a shard has [`BATCH`] of them or the
//! first has waited [`PATIENCE`], since every batch makes a file. A new holder of the shard finds them again, as their rows
//! still stand.
//!
//! Wake-ups of [`DUE_CHANNEL`] are gathered for a while: a row that was just written is rarely due at once. A lost one
//! costs [`SAFETY_POLL`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::Cluster;
use kit::{Backoff, Shutdown, Timestamp};
use model::{Offer, Status};
use store::{Range, Read as _, SHARDS, Shard, Tx};
use wire::offers::{Actor, actor};

use crate::changes::Changes;
use crate::read::find_many;
use crate::tables::DUE;
use crate::{DUE_CHANNEL, Offers, Result, archive, erase, history};

pub const ROLE: &str = "offers-scheduler";
/// Offers that leave for the archive together, and how long the first may wait for the others.
pub const BATCH: usize = 512;
pub const PATIENCE: Duration = Duration::from_secs(86_400);
/// Bytes of a batch; each offer may have 100 kB.
const BATCH_BYTES: usize = 16 << 20;
const ROWS_AT_ONCE: usize = 100;
const SAFETY_POLL: Duration = Duration::from_secs(30);
/// Wake-ups are gathered so long.
const GATHER: Duration = Duration::from_secs(1);
/// Rows that were written behind the place already passed are found after this.
const FROM_THE_START: Duration = Duration::from_secs(3_600);

/// The time's own signature.
pub fn by_time(reason: &str) -> Actor {
    Actor { kind: actor::Kind::System.into(), who: String::new(), task_id: 0, reason: reason.to_owned() }
}

/// Fencing, where there is a cluster.
pub(crate) async fn check(tx: &mut Tx, cluster: Option<&Cluster>) -> Result<()> {
    match cluster {
        Some(cluster) => Ok(cluster.check(tx, ROLE).await?),
        None => Ok(()),
    }
}

/// How far a shard is.
#[derive(Debug, Default)]
pub struct Progress {
    /// The last row that was dealt with.
    passed: Option<(i64, i64)>,
    begun: Timestamp,
    /// Rows whose offers wait for a batch, oldest first.
    waiting: Vec<(i64, i64)>,
    /// When there is something to do again.
    next: Option<Timestamp>,
}

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub expired: usize,
    pub archived: usize,
    pub rewritten: usize,
}

/// Works on the shards whose tokens are held, until the shutdown.
pub async fn run(offers: &Offers, cluster: Option<&Cluster>, shutdown: &Shutdown) {
    if let Some(cluster) = cluster {
        cluster.register_role(ROLE, SHARDS);
    }
    let wakes = offers.store.wakes().listen(DUE_CHANNEL);
    let mut states = BTreeMap::<Shard, (Progress, Backoff)>::new();
    let mut look_at = held(cluster);
    let mut poll_at = tokio::time::Instant::now() + SAFETY_POLL;
    while !shutdown.is_called() {
        let held = held(cluster);
        states.retain(|shard, _| held.contains(shard));
        for shard in look_at.intersection(&held) {
            if shutdown.is_called() {
                return;
            }
            let (progress, failures) =
                states.entry(*shard).or_insert_with(|| (Progress::default(), backoff()));
            if let Err(error) = work(offers, cluster, *shard, progress).await {
                let wait = failures.next_wait();
                tracing::warn!(shard = shard.number(), %error, ?wait, "due offers wait; trying again");
                *progress = Progress { next: Some(offers.clock.now().plus(wait)), ..Progress::default() };
            } else {
                failures.reset();
            }
        }
        let next = states.values().filter_map(|(progress, _)| progress.next).min();
        let until_next = next.map_or(SAFETY_POLL, |next| next.since(offers.clock.now()));
        tokio::select! {
            () = shutdown.called() => return,
            () = tokio::time::sleep_until(poll_at) => {
                poll_at = tokio::time::Instant::now() + SAFETY_POLL;
                look_at = self::held(cluster);
            }
            () = tokio::time::sleep(until_next) => {
                let now = offers.clock.now();
                let is_due = |progress: &Progress| progress.next.is_some_and(|next| next <= now);
                look_at = states.iter().filter(|(_, state)| is_due(&state.0)).map(|(shard, _)| *shard).collect();
            }
            woken = wakes.woken() => {
                look_at = woken;
                shutdown.sleep(GATHER).await;
                look_at.extend(wakes.take());
            }
        }
    }
}

fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(200), SAFETY_POLL)
}

fn held(cluster: Option<&Cluster>) -> BTreeSet<Shard> {
    match cluster {
        Some(cluster) => cluster.held(ROLE).into_iter().collect(),
        None => Shard::all().collect(),
    }
}

async fn work(
    offers: &Offers,
    cluster: Option<&Cluster>,
    shard: Shard,
    progress: &mut Progress,
) -> Result<()> {
    let begins = offers.clock.now().since(progress.begun) >= FROM_THE_START;
    take_turn(offers, cluster, shard, progress).await?;
    if begins {
        history::forget(offers, cluster, shard).await?;
    }
    erase::go_on(offers, cluster, shard).await
}

/// Deals with all rows of a shard that are due now.
pub async fn take_turn(
    offers: &Offers,
    cluster: Option<&Cluster>,
    shard: Shard,
    progress: &mut Progress,
) -> Result<Done> {
    let now = offers.clock.now();
    if now.since(progress.begun) >= FROM_THE_START {
        *progress = Progress { begun: now, ..Progress::default() };
    }
    let mut done = Done::default();
    loop {
        let mut range = Range::all(ROWS_AT_ONCE);
        if let Some(passed) = progress.passed {
            range = range.after(passed)?;
        }
        let rows: Vec<_> = offers
            .store
            .snapshot(shard)
            .await?
            .scan(&DUE, range)
            .await?
            .into_iter()
            .map(|(key, ())| key)
            .collect();
        let due: Vec<_> = rows.iter().copied().filter(|(at, _)| *at <= now.0).collect();
        progress.next = rows.get(due.len()).map(|(at, _)| Timestamp(*at));
        if !due.is_empty() {
            let page = async |tx: &mut Tx| page_of(tx, offers, cluster, &due, now).await;
            let (did, ended) = offers.store.transact(shard, page).await?;
            done.expired += did.expired;
            done.rewritten += did.rewritten;
            if offers.files.is_some() {
                progress.waiting.extend(ended);
            }
            progress.passed = due.last().copied();
        }
        if progress.waiting.len() >= BATCH {
            done.archived += archive_waiting(offers, cluster, shard, progress).await?;
        }
        if due.len() < ROWS_AT_ONCE {
            break;
        }
    }
    if let Some((oldest, _)) = progress.waiting.first() {
        let at = Timestamp(*oldest).plus(PATIENCE);
        if at <= now {
            done.archived += archive_waiting(offers, cluster, shard, progress).await?;
        } else {
            progress.next = Some(progress.next.map_or(at, |next| next.min(at)));
        }
    }
    Ok(done)
}

/// Expires what must, corrects rows, and gives the rows of those that are for the archive.
async fn page_of(
    tx: &mut Tx,
    offers: &Offers,
    cluster: Option<&Cluster>,
    rows: &[(i64, i64)],
    now: Timestamp,
) -> Result<(Done, Vec<(i64, i64)>)> {
    check(tx, cluster).await?;
    let (mut done, mut ended) = (Done::default(), Vec::new());
    let row_ids: Vec<_> = rows.iter().map(|(_, id)| *id).collect();
    let found = find_many(tx, &row_ids).await?;
    let mut changes = Changes::new(&offers.settings, now);
    for (row, offer) in rows.iter().zip(found) {
        let Some(offer) = offer.filter(|offer| offer.due_at == row.0) else {
            tx.delete(&DUE, *row)?;
            done.rewritten += 1;
            continue;
        };
        let due_at = changes.due_at(&offer);
        if due_at == 0 || due_at > now.0 {
            changes.save(tx, Some(&offer), offer.clone(), &by_time("due"))?;
            done.rewritten += 1;
        } else if offer.status() == Status::Active {
            let mut after = offer.clone();
            after.set_status(Status::Expired);
            changes.save(tx, Some(&offer), after, &by_time("expired"))?;
            done.expired += 1;
        } else {
            ended.push(*row);
        }
    }
    changes.finish(tx).await?;
    Ok((done, ended))
}

/// Reads the offers that wait, as many as a batch may have, and moves them.
async fn archive_waiting(
    offers: &Offers,
    cluster: Option<&Cluster>,
    shard: Shard,
    progress: &mut Progress,
) -> Result<usize> {
    let mut archived = 0;
    while !progress.waiting.is_empty() {
        let snapshot = offers.store.snapshot(shard).await?;
        let (mut batch, mut bytes, mut taken) = (Vec::<Offer>::new(), 0_usize, 0);
        for rows in progress.waiting.chunks(ROWS_AT_ONCE) {
            let row_ids: Vec<_> = rows.iter().map(|(_, id)| *id).collect();
            let found = find_many(&snapshot, &row_ids).await?;
            let still =
                rows.iter().zip(found).filter_map(|((at, _), offer)| offer.filter(|o| o.due_at == *at));
            batch.extend(still);
            taken += rows.len();
            bytes = batch.iter().map(prost::Message::encoded_len).sum();
            if bytes >= BATCH_BYTES || taken >= BATCH {
                break;
            }
        }
        drop(snapshot);
        let count = batch.len();
        let left = archive::leave(offers, cluster, shard, batch).await?;
        progress.waiting.drain(..taken);
        archived += left.archived;
        tracing::info!(
            shard = shard.number(),
            count,
            bytes,
            archived = left.archived,
            "offers left for the archive"
        );
    }
    Ok(archived)
}
