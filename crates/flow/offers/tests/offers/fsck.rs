use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use model::OfferId;
use offers::fsck::{Mode, Scope, fsck};
use offers::tables::{COUNTERS, DUE, FEED, FEED_HEAD, FEED_ORDINALS, PRESETS, PRESETS_COUNT};
use offers::write::{Expected, Verb};
use offers::{Offers, Preset, Settings};
use servers::Database;
use store::{Read as _, Shard, Tx};
use wire::offers::{FeedHead, FeedRow};

use crate::kept::{Engine, content, keep, me};

const SELLER: &str = "seller-1";

/// Breaks rows and numbers of every kind that is checked.
async fn break_things(offers: &Offers, ids: &[(i64, i64, i64)]) {
    let shard = Shard::of(SELLER);
    let hurt = async |tx: &mut Tx| {
        for (place, (id, created, due)) in ids.iter().enumerate() {
            match place % 4 {
                0 => tx.delete(&PRESETS, (SELLER, Preset::All.id(), *created, *id))?,
                1 => tx.put(&PRESETS, (SELLER, Preset::Banned.id(), *created, *id), &())?,
                2 => tx.delete(&DUE, (*due, *id))?,
                _ => tx.put(&DUE, (*due + 1, *id), &())?,
            }
        }
        tx.put(&PRESETS, (SELLER, Preset::Active.id(), 1_i64, 42_i64), &())?;
        for (preset, by) in [(Preset::All, 1_000), (Preset::Active, -3), (Preset::Sold, 7)] {
            let key = (SELLER, preset.id());
            let count = tx.get(&PRESETS_COUNT, key).await?.unwrap_or(0);
            tx.put(&PRESETS_COUNT, key, &(count + by))?;
        }
        let key = (SELLER, "Active", "", 0_u32);
        let active = tx.get(&COUNTERS, key).await?.unwrap_or(0);
        tx.put(&COUNTERS, key, &(active + 11))?;
        tx.put(&COUNTERS, (SELLER, "Banned", "", 3_u32), &5)?;
        tx.put(&FEED_HEAD, (SELLER, "default"), &FeedHead { live: 9, ..FeedHead::default() })?;
        for (ordinal, offer_id) in [(1, 7), (2, 0)] {
            let external = format!("e{ordinal}");
            let row = FeedRow { offer_id, ordinal, ..FeedRow::default() };
            tx.put(&FEED, (SELLER, "default", external.as_str()), &row)?;
            tx.put(&FEED_ORDINALS, (SELLER, "default", ordinal), &external)?;
        }
        Ok::<_, offers::Error>(())
    };
    offers.store.transact(shard, hurt).await.unwrap();
}

async fn write_until(offers: Offers, writer: usize, stop: Arc<AtomicBool>, written: Arc<AtomicUsize>) {
    let mut mine = Vec::new();
    for step in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        if step % 3 == 0 {
            let made = offers.create(SELLER, content(&format!("{writer}-{step}")), &me()).await.unwrap();
            mine.push(OfferId::from_raw(made.id).unwrap());
        } else {
            let verbs = [Verb::Withdraw, Verb::SellHere, Verb::Activate, Verb::Delete];
            let (id, verb) = (mine[step % mine.len()], verbs[step % verbs.len()]);
            // A move that the offer's status does not allow is refused, and that is all.
            let _ = offers.act(id, verb, Expected::Any, &me()).await;
        }
        written.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
}

async fn repaired_while_eight_write(engine: Engine<'_>) {
    let kept = keep(engine, Settings::default()).await;
    let mut ids = Vec::new();
    for number in 0..300 {
        let offer = kept.create(SELLER, &format!("offer {number}")).await;
        ids.push((offer.id, offer.created_at, offer.due_at));
    }
    let scope = Scope::Seller(SELLER.to_owned());
    assert!(fsck(&kept.offers, &scope, Mode::Look).await.unwrap().is_clean());

    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writers: Vec<_> = (0..8)
        .map(|writer| tokio::spawn(write_until(kept.offers.clone(), writer, stop.clone(), written.clone())))
        .collect();
    break_things(&kept.offers, &ids[..40]).await;
    let before = written.load(Ordering::SeqCst);
    // Two repairs at once must not correct twice.
    let both =
        tokio::join!(fsck(&kept.offers, &scope, Mode::Repair), fsck(&kept.offers, &scope, Mode::Repair));
    let during = written.load(Ordering::SeqCst) - before;
    let reports = [both.0.unwrap(), both.1.unwrap()];
    stop.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    kept.assert_agrees(SELLER).await;
    assert!(during > 0, "nobody wrote while it was repaired");
    let rows: u64 = reports.iter().map(|report| report.wrong_rows).sum();
    assert_eq!(rows, 41, "{reports:?}");
    let snapshot = kept.offers.store.snapshot(Shard::of(SELLER)).await.unwrap();
    assert_eq!(snapshot.get(&FEED_HEAD, (SELLER, "default")).await.unwrap().unwrap().live, 1);
    let after = fsck(&kept.offers, &Scope::Everything, Mode::Look).await.unwrap();
    assert!(after.is_clean(), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_repaired_exactly_while_eight_write_in_memory() {
    repaired_while_eight_write(Engine::Memory).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_repaired_exactly_while_eight_write_embedded() {
    repaired_while_eight_write(Engine::Embedded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_repaired_exactly_while_eight_write_on_postgres() {
    let Some(database) = Database::create("drift_is_repaired_exactly_while_eight_write_on_postgres").await
    else {
        return;
    };
    repaired_while_eight_write(Engine::Postgres(&database.url)).await;
}

#[tokio::test]
async fn a_look_says_what_is_wrong_and_changes_nothing() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let offer = kept.create(SELLER, "phone").await;
    break_things(&kept.offers, &[(offer.id, offer.created_at, offer.due_at)]).await;
    let look = fsck(&kept.offers, &Scope::Everything, Mode::Look).await.unwrap();
    assert_eq!(look, fsck(&kept.offers, &Scope::Everything, Mode::Look).await.unwrap());
    assert_eq!((look.wrong_rows, look.sellers, look.offers), (2, 1, 1), "{look}");
    let text = look.to_string();
    let all = format!("seller {SELLER}: the length of the list all said 1001, there are 0");
    assert!(text.contains(&all) && text.ends_with("nothing was changed"), "{text}");
    fsck(&kept.offers, &Scope::Everything, Mode::Repair).await.unwrap();
    kept.assert_agrees(SELLER).await;
}
