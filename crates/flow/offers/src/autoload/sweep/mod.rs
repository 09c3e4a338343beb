//! Takes away what feeds no longer have, beside the stream of loads.
//!
//! A sweep is a row with a phase and a cursor, and every step of it is one transaction that also moves the row: after a
//! crash the next process goes on exactly where the last one came to. The sweeps of a namespace go in the order of their
//! tasks, under the shard's work token.

mod steps;

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::Cluster;
use futures::StreamExt as _;
use kit::Shutdown;
use store::{Range, Read as _, Shard, Tx};
use wire::offers::SweepRow;
use wire::offers::sweep_row::Phase;

use super::{Load, walk};
use crate::tables::FEED_SWEEPS;
use crate::{Offers, Result, SWEEP_CHANNEL};

/// The role whose work tokens the sweeper works under.
pub const ROLE: &str = "offers-scheduler";

/// How often sweeps are looked for without a wake-up.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// After a failure the next look comes sooner.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Namespaces that are swept side by side.
const PARALLEL: usize = 8;
/// Steps that one namespace makes before others have their turn.
const STEPS_PER_TURN: usize = 32;
/// Sweeps that are read of a shard at a time.
const PAGE: usize = 64;

/// Sweeps until the shutdown is called. Without a cluster this process is alone, and every shard is its own.
pub async fn run(offers: Offers, cluster: Option<Cluster>, shutdown: Shutdown) {
    if let Some(cluster) = &cluster {
        cluster.register_role(ROLE, store::SHARDS);
    }
    let wakes = offers.store.wakes().listen(SWEEP_CHANNEL);
    let mut tokens = cluster.as_ref().map(|cluster| cluster.watch(ROLE));
    let mut woken: Option<BTreeSet<Shard>> = None;
    while !shutdown.is_called() {
        let held: Vec<Shard> = match &cluster {
            Some(cluster) => cluster.held(ROLE),
            None => Shard::all().collect(),
        };
        let is_poll = woken.is_none();
        let shards: Vec<Shard> = match &woken {
            Some(woken) => held.into_iter().filter(|shard| woken.contains(shard)).collect(),
            None => held,
        };
        let outcome = tokio::select! {
            outcome = round(&offers, cluster.as_ref(), &shards, is_poll) => outcome,
            () = shutdown.called() => return,
        };
        let wait = match outcome {
            Ok(()) => LOOK_EVERY,
            Err(error) => {
                tracing::warn!(%error, "a sweep stopped; it goes on where it stopped");
                RETRY_AFTER
            }
        };
        woken = tokio::select! {
            shards = wakes.woken() => Some(shards),
            () = changed(tokens.as_mut()) => None,
            () = tokio::time::sleep(wait) => None,
            () = shutdown.called() => return,
        };
    }
}

/// The tokens that are held may have changed.
async fn changed(tokens: Option<&mut tokio::sync::watch::Receiver<u64>>) {
    let told = match tokens {
        Some(tokens) => tokens.changed().await.is_ok(),
        None => false,
    };
    if !told {
        std::future::pending::<()>().await;
    }
}

async fn round(offers: &Offers, cluster: Option<&Cluster>, shards: &[Shard], is_poll: bool) -> Result<()> {
    work(offers, cluster, shards).await?;
    if is_poll {
        walk::round(offers, cluster, shards).await?;
    }
    Ok(())
}

/// Makes every step that can be made in these shards now.
pub async fn work(offers: &Offers, cluster: Option<&Cluster>, shards: &[Shard]) -> Result<()> {
    loop {
        let due = due(offers, shards).await?;
        if due.is_empty() {
            return Ok(());
        }
        let turns = due.into_iter().map(|(shard, load)| turn(offers, cluster, shard, load));
        let mut turns = futures::stream::iter(turns).buffer_unordered(PARALLEL);
        let mut outcome = Ok(());
        while let Some(turned) = turns.next().await {
            outcome = outcome.and(turned);
        }
        outcome?;
    }
}

/// For each namespace with sweeps, the first of them; a held one keeps the later ones waiting.
async fn due(offers: &Offers, shards: &[Shard]) -> Result<Vec<(Shard, Load)>> {
    let mut due: Vec<(Shard, Load)> = Vec::new();
    let mut pages = vec![offers.store.scan_shards(&FEED_SWEEPS, shards, Range::all(PAGE)).await?];
    while let Some(page) = pages.pop() {
        let mut previous: Option<(Shard, String, String)> = None;
        let mut of_shard = 0;
        let mut rows = page.into_iter().peekable();
        while let Some((shard, (seller, namespace, key), row)) = rows.next() {
            of_shard += 1;
            let ends = rows.peek().is_none_or(|(next, ..)| *next != shard);
            if ends && of_shard == PAGE {
                let after = Range::all(PAGE).after((&*seller, &*namespace))?;
                let snapshot = offers.store.snapshot(shard).await?;
                let more = snapshot.scan(&FEED_SWEEPS, after).await?;
                pages.push(more.into_iter().map(|(key, row)| (shard, key, row)).collect());
            }
            if ends {
                of_shard = 0;
            }
            let feed = Some((shard, seller, namespace));
            if previous != feed && row.phase() != Phase::Held {
                due.extend(feed.clone().map(|(shard, seller, namespace)| {
                    (shard, Load { seller, namespace, task: key.abs(), dry: row.dry_run })
                }));
            }
            previous = feed;
        }
    }
    Ok(due)
}

async fn turn(offers: &Offers, cluster: Option<&Cluster>, shard: Shard, load: Load) -> Result<()> {
    for _ in 0..STEPS_PER_TURN {
        if !step(offers, cluster, shard, &load).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// One step, in one transaction; `false`: nothing more can be done for this sweep now.
async fn step(offers: &Offers, cluster: Option<&Cluster>, shard: Shard, load: &Load) -> Result<bool> {
    let step = async |tx: &mut Tx| {
        if let Some(cluster) = cluster {
            cluster.check(tx, ROLE).await?;
        }
        let key = (&*load.seller, &*load.namespace, load.key());
        let Some(row) = tx.get(&FEED_SWEEPS, key).await? else { return Ok(false) };
        take(tx, offers, load, row).await
    };
    offers.store.transact(shard, step).await
}

async fn take(tx: &mut Tx, offers: &Offers, load: &Load, row: SweepRow) -> Result<bool> {
    match row.phase() {
        Phase::Counting => steps::count(tx, load, row).await,
        Phase::Held => Ok(false),
        Phase::Sweeping => steps::sweep(tx, offers, load, row).await,
        Phase::Clearing => steps::clear(tx, load).await,
    }
}
