//! Wake-ups between processes: `NOTIFY` after commits, gathered for 50 ms, and `LISTEN`, on one connection per server.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::{Backoff, Shutdown};
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};
use tokio_postgres::Statement;
use tokio_postgres::error::Error as PgError;

use super::address::Address;
use super::link::Link;
use crate::{Result, Schema, Shard, Wakes};

/// A process notifies at most this often, however much it commits: the server hands notifications out one by one.
const PAUSE: Duration = Duration::from_millis(50);
/// PostgreSQL takes payloads of less than 8,000 bytes.
const MAX_PAYLOAD: usize = 7_900;
/// Notifications are hints, so they need not wait for the disk.
const LISTEN: &str = "SET synchronous_commit = off; LISTEN dvor";
const NOTIFY: &str = "SELECT pg_notify('dvor', payload) FROM unnest($1::text[]) AS payload";

type Pending = BTreeMap<&'static str, BTreeSet<Shard>>;

/// Wakes this process at once, and the others soon.
pub(super) struct Bell {
    /// Knows our own notifications when they come back.
    process: String,
    wakes: Wakes,
    pending: Mutex<Pending>,
    rung: Notify,
}

impl Bell {
    pub(super) fn new(process: String, wakes: Wakes) -> Arc<Self> {
        Arc::new(Self { process, wakes, pending: Mutex::default(), rung: Notify::new() })
    }

    pub(super) fn ring(&self, shard: Shard, channels: &[&'static str]) {
        if channels.is_empty() {
            return;
        }
        let mut pending = self.pending();
        for channel in channels {
            self.wakes.wake(channel, shard);
            pending.entry(channel).or_default().insert(shard);
        }
        drop(pending);
        self.rung.notify_one();
    }

    fn hear(&self, payload: &str) {
        let mut lines = payload.lines();
        if lines.next().is_none_or(|process| process == self.process) {
            return;
        }
        for line in lines {
            // What another version of the program may say and we do not understand, the safety poll finds.
            let Some((channel, shards)) = line.split_once('=') else { continue };
            for shard in shards.split(',').filter_map(|number| Shard::new(number.parse().ok()?)) {
                self.wakes.wake(channel, shard);
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Listens and notifies until the shutdown; a lost connection is made again.
pub(super) async fn run(bell: Arc<Bell>, address: Arc<Address>, schema: Arc<Schema>, shutdown: Shutdown) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    while !shutdown.is_called() {
        if let Err(error) = talk(&bell, &address, &schema, &shutdown, &mut backoff).await {
            tracing::warn!(%error, "wake-ups from other processes are late until PostgreSQL answers again");
        }
        shutdown.sleep(backoff.next_wait()).await;
    }
}

async fn talk(
    bell: &Bell,
    address: &Address,
    schema: &Arc<Schema>,
    shutdown: &Shutdown,
    backoff: &mut Backoff,
) -> Result<()> {
    let lost = |error| super::failure::did_not_happen(&address.place, &error);
    let (heard, mut hears) = mpsc::unbounded_channel();
    let link = Link::connect(address, schema.clone(), Some(heard)).await?;
    link.client.batch_execute(LISTEN).await.map_err(lost)?;
    let notify = link.client.prepare(NOTIFY).await.map_err(lost)?;
    backoff.reset();
    let (mut quiet_until, mut due) = (Instant::now(), None);
    loop {
        tokio::select! {
            payload = hears.recv() => match payload {
                Some(payload) => bell.hear(&payload),
                // The connection's driver is gone.
                None => return Ok(()),
            },
            () = bell.rung.notified(), if due.is_none() => due = Some(quiet_until),
            () = sleep_until(due.unwrap_or(quiet_until)), if due.is_some() => {
                send(bell, &link, &notify).await.map_err(lost)?;
                (quiet_until, due) = (Instant::now() + PAUSE, None);
            }
            () = shutdown.called() => return send(bell, &link, &notify).await.map_err(lost),
        }
    }
}

/// Sends what is pending; what could not be sent stays so.
async fn send(bell: &Bell, link: &Link, notify: &Statement) -> Result<(), PgError> {
    let pending = std::mem::take(&mut *bell.pending());
    if pending.is_empty() {
        return Ok(());
    }
    let payloads = payloads(&bell.process, &pending);
    let sent = link.client.execute(notify, &[&payloads]).await;
    if sent.is_err() {
        take_back(bell, pending);
    }
    sent.map(drop)
}

fn take_back(bell: &Bell, unsent: Pending) {
    let mut pending = bell.pending();
    for (channel, shards) in unsent {
        pending.entry(channel).or_default().extend(shards);
    }
    drop(pending);
    bell.rung.notify_one();
}

/// A first line with the process, then a line `channel=shard,shard,…` for each channel, in as many payloads as needed.
fn payloads(process: &str, pending: &Pending) -> Vec<String> {
    let mut payloads = Vec::new();
    let mut payload = process.to_owned();
    for (channel, shards) in pending {
        let mut before = format!("\n{channel}=");
        for shard in shards {
            let mut item = format!("{before}{shard}");
            if payload.len() + item.len() > MAX_PAYLOAD {
                payloads.push(std::mem::replace(&mut payload, process.to_owned()));
                item = format!("\n{channel}={shard}");
            }
            // Writing into a String cannot fail.
            let _ = write!(payload, "{item}");
            ",".clone_into(&mut before);
        }
    }
    if payload.len() > process.len() {
        payloads.push(payload);
    }
    payloads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_stay_under_the_limit_and_lose_nothing() {
        let all: BTreeSet<Shard> = Shard::all().collect();
        let pending: Pending = ["relay", "stages", "photos"].map(|channel| (channel, all.clone())).into();
        let payloads = payloads("me", &pending);
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() <= MAX_PAYLOAD));

        let (own, other) = (Wakes::default(), Wakes::default());
        let listeners =
            ["relay", "stages", "photos"].map(|channel| (own.listen(channel), other.listen(channel)));
        let (me, they) = (Bell::new("me".to_owned(), own), Bell::new("they".to_owned(), other));
        for payload in &payloads {
            me.hear(payload);
            they.hear(payload);
        }
        for (own, other) in listeners {
            assert_eq!(own.take(), BTreeSet::new());
            assert_eq!(other.take(), all);
        }
        they.hear("odd\nline\nrelay=x,9999,7");
    }
}
