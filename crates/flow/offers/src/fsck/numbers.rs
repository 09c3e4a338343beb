//! Lengths of lists, current counters and the live offers of feeds against the rows they count.

use store::{Range, Read, Shard, Snapshot, Tx};

use super::{Mode, Report, count_repair, repairs};
use crate::counters::Counter;
use crate::presets::Preset;
use crate::tables::{COUNTERS, FEED, FEED_HEAD, FEED_ORDINALS, PRESETS, PRESETS_COUNT};
use crate::{Offers, Result};

const ROWS_AT_ONCE: usize = 10_000;
/// Another repair of the shard came in between; after so many the seller is left to the next check.
const ATTEMPTS: usize = 100;

pub(super) async fn check(
    offers: &Offers,
    shard: Shard,
    seller: &str,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    for preset in Preset::KEPT {
        settle(offers, shard, seller, &Number::List(preset), mode, report).await?;
    }
    let mut last = String::new();
    loop {
        let snapshot = offers.store.snapshot(shard).await?;
        let range = Range::prefix((seller,), 1)?.after((seller, last.as_str()))?;
        let Some(((_, namespace), _)) = snapshot.scan(&FEED_HEAD, range).await?.pop() else { return Ok(()) };
        drop(snapshot);
        settle(offers, shard, seller, &Number::Feed(namespace.clone()), mode, report).await?;
        last = namespace;
    }
}

/// Rows that are counted, with the numbers that say how many they are.
enum Number {
    /// The list's length, and the current counter that means the same.
    List(Preset),
    Feed(String),
}

/// What is to be added to a stored number.
struct Difference {
    what: Stored,
    found: i64,
    expected: i64,
}

enum Stored {
    Length(Preset),
    Counter(Counter),
    Live(String),
}

async fn settle(
    offers: &Offers,
    shard: Shard,
    seller: &str,
    number: &Number,
    mode: Mode,
    report: &mut Report,
) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let snapshot = offers.store.snapshot(shard).await?;
        let seen = repairs(&snapshot).await?;
        let mut wrong = differences(&snapshot, seller, number).await?;
        drop(snapshot);
        wrong.retain(|difference| difference.found != difference.expected);
        let settled = wrong.is_empty()
            || mode == Mode::Look
            || offers.store.transact(shard, async |tx| add(tx, seller, &wrong, &seen).await).await?;
        if settled {
            for Difference { what, found, expected } in wrong {
                report.number(seller, what.name(), found, expected);
            }
            return Ok(());
        }
    }
    let detail = format!("the numbers of seller {seller} are being repaired by others; check again later");
    Err(crate::Error::Conflict { name: "repair_under_way", detail })
}

/// Adds the differences to the numbers as they are now, unless another repair came after the snapshot.
async fn add(tx: &mut Tx, seller: &str, wrong: &[Difference], seen: &[u8]) -> Result<bool> {
    if repairs(tx).await? != seen {
        return Ok(false);
    }
    count_repair(tx).await?;
    for Difference { what, found, expected } in wrong {
        let delta = expected - found;
        match what {
            Stored::Length(preset) => {
                let key = (seller, preset.id());
                let stored = tx.get(&PRESETS_COUNT, key).await?.unwrap_or(0);
                tx.put(&PRESETS_COUNT, key, &(stored + delta))?;
            }
            Stored::Counter(counter) => {
                let key = (seller, counter.name(), "", 0_u32);
                let stored = tx.get(&COUNTERS, key).await?.unwrap_or(0);
                tx.put(&COUNTERS, key, &(stored + delta))?;
            }
            Stored::Live(namespace) => {
                let key = (seller, namespace.as_str());
                if let Some(mut head) = tx.get(&FEED_HEAD, key).await? {
                    head.live += delta;
                    tx.put(&FEED_HEAD, key, &head)?;
                }
            }
        }
    }
    Ok(true)
}

async fn differences(snapshot: &Snapshot, seller: &str, number: &Number) -> Result<Vec<Difference>> {
    match number {
        Number::List(preset) => {
            let expected = length(snapshot, seller, *preset).await?;
            let found = snapshot.get(&PRESETS_COUNT, (seller, preset.id())).await?.unwrap_or(0);
            let mut all = vec![Difference { what: Stored::Length(*preset), found, expected }];
            let counter = match preset {
                Preset::Active => Some(Counter::Active),
                Preset::Expired => Some(Counter::Expired),
                Preset::Banned => Some(Counter::Banned),
                _ => None,
            };
            if let Some(counter) = counter {
                let stripes = Range::prefix((seller, counter.name()), ROWS_AT_ONCE)?;
                let found =
                    snapshot.scan(&COUNTERS, stripes).await?.into_iter().map(|(_, value)| value).sum();
                all.push(Difference { what: Stored::Counter(counter), found, expected });
            }
            Ok(all)
        }
        Number::Feed(namespace) => {
            let Some(head) = snapshot.get(&FEED_HEAD, (seller, namespace.as_str())).await? else {
                return Ok(Vec::new());
            };
            let expected = live(snapshot, seller, namespace).await?;
            Ok(vec![Difference { what: Stored::Live(namespace.clone()), found: head.live, expected }])
        }
    }
}

async fn length(snapshot: &Snapshot, seller: &str, preset: Preset) -> Result<i64> {
    let (mut length, mut last) = (0, None);
    loop {
        let mut range = Range::prefix((seller, preset.id()), ROWS_AT_ONCE)?;
        if let Some((created, id)) = last {
            range = range.after((seller, preset.id(), created, id))?;
        }
        let page = snapshot.scan(&PRESETS, range).await?;
        let Some(((_, _, created, id), ())) = page.last() else { return Ok(length) };
        last = Some((*created, *id));
        length += page.len() as i64;
    }
}

/// Ordinals whose feed row has an offer: a record that never became one is not live.
async fn live(snapshot: &Snapshot, seller: &str, namespace: &str) -> Result<i64> {
    let (mut live, mut last) = (0, None);
    loop {
        let mut range = Range::prefix((seller, namespace), ROWS_AT_ONCE)?;
        if let Some(ordinal) = last {
            range = range.after((seller, namespace, ordinal))?;
        }
        let page = snapshot.scan(&FEED_ORDINALS, range).await?;
        let Some(((_, _, ordinal), _)) = page.last() else { return Ok(live) };
        last = Some(*ordinal);
        let keys: Vec<_> =
            page.iter().map(|(_, external_id)| (seller, namespace, external_id.as_str())).collect();
        let rows = snapshot.get_many(&FEED, keys).await?;
        live += rows.iter().flatten().filter(|row| row.offer_id != 0).count() as i64;
    }
}

impl Stored {
    fn name(&self) -> String {
        match self {
            Self::Length(preset) => format!("the length of the list {}", preset.name()),
            Self::Counter(counter) => format!("the counter {}", counter.name()),
            Self::Live(namespace) => format!("the live offers of the feed {namespace}"),
        }
    }
}
