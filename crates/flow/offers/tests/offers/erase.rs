use futures::StreamExt as _;
use model::{Offer, OfferId};
use offers::archive::{ids, leave};
use offers::autoload::Decided;
use offers::erase::SellerErasures;
use offers::tables::{ARCHIVE_FILES, FEED, FEED_ORDINALS, OFFER};
use offers::write::{Expected, Verb};
use offers::{Error, Offers, Settings};
use store::{FaultPlan, Faults, Range, Read as _, Shard};
use wire::feeds::FeedDecision;
use wire::feeds::feed_decision::Word;
use wire::offers::FeedRow;
use wire::offers::erasure::Phase;

use crate::feed::{Feed, NAMESPACE, SELLER, ends, records};
use crate::kept::{Engine, Kept, keep, me, run_due};

/// Two sellers of one shard, so that one must not be mistaken for the other.
fn neighbours() -> (String, String) {
    let first = "seller-1".to_owned();
    let second =
        (2..100_000).map(|n| format!("seller-{n}")).find(|s| Shard::of(s) == Shard::of(&first)).unwrap();
    (first, second)
}

fn id(offer: &Offer) -> OfferId {
    OfferId::from_raw(offer.id).unwrap()
}

/// Offers in the tables and in the archive, and rows of a feed.
async fn fill(kept: &Kept, seller: &str) -> Vec<Offer> {
    let mut all = Vec::new();
    for number in 0..7 {
        let offer = kept.create(seller, &format!("{seller} {number}")).await;
        let offer = match number % 3 {
            0 => offer,
            1 => kept.offers.act(id(&offer), Verb::Delete, Expected::Any, &me()).await.unwrap(),
            _ => {
                let sold = kept.offers.act(id(&offer), Verb::SellHere, Expected::Any, &me()).await.unwrap();
                leave(&kept.offers, Shard::of(seller), vec![sold.clone()]).await.unwrap();
                sold
            }
        };
        all.push(offer);
    }
    let feed = async |tx: &mut store::Tx| {
        tx.put(&FEED, (seller, "default", "e1"), &FeedRow { ordinal: 1, ..FeedRow::default() })?;
        tx.put(&FEED_ORDINALS, (seller, "default", 1_i64), &"e1".to_owned())?;
        Ok::<_, Error>(())
    };
    kept.offers.store.transact(Shard::of(seller), feed).await.unwrap();
    all
}

async fn exported(offers: &Offers, seller: &str) -> Vec<i64> {
    let mut ids: Vec<_> = offers.export(seller).map(|offer| offer.unwrap().id).collect().await;
    ids.sort_unstable();
    ids
}

fn sorted(offers: &[Offer]) -> Vec<i64> {
    let mut ids: Vec<_> = offers.iter().map(|offer| offer.id).collect();
    ids.sort_unstable();
    ids
}

async fn assert_nothing_left(kept: &Kept, seller: &str, his: &[Offer]) {
    for offer in his {
        assert!(matches!(kept.offers.get(id(offer)).await, Err(Error::NoOffer(_))), "{}", offer.id);
    }
    assert!(exported(&kept.offers, seller).await.is_empty());
    let snapshot = kept.offers.store.snapshot(Shard::of(seller)).await.unwrap();
    for spec in
        offers::tables().iter().filter(|spec| spec.columns[0] == "seller_id" && spec.name != "erasures")
    {
        let table = snapshot.schema().id(spec.system, spec.name).unwrap();
        let rows = snapshot.scan_raw(table, Range::prefix((seller,), 10).unwrap()).await.unwrap();
        assert!(rows.is_empty(), "{} has rows of the seller", spec.name);
    }
    let parts = snapshot.scan(&OFFER, Range::all(1_000)).await.unwrap();
    assert!(parts.iter().all(|((part, _), _)| his.iter().all(|offer| offer.id != *part)));
    let known = ids::known(&snapshot, &sorted(his)).await.unwrap();
    assert!(known.iter().all(|known| *known == Some(ids::Known::Erased)), "an id could be given again");
    let row = kept.offers.erasure(seller).await.unwrap().unwrap();
    assert_eq!((row.phase(), row.done_at != 0), (Phase::Done, true));
}

#[tokio::test]
async fn everything_of_one_seller_goes_and_nothing_of_another() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let (seller, other) = neighbours();
    let (his, others) = (fill(&kept, &seller).await, fill(&kept, &other).await);
    assert_eq!(exported(&kept.offers, &seller).await, sorted(&his));
    let first = kept.offers.erase(&seller, "test").await.unwrap();
    assert_eq!(kept.offers.erase(&seller, "again").await.unwrap(), first, "asked twice, it is one wish");
    run_due(&kept.offers, SellerErasures, Shard::of(&seller)).await.unwrap();
    assert_nothing_left(&kept, &seller, &his).await;
    assert_eq!(exported(&kept.offers, &other).await, sorted(&others));
    kept.assert_lists(&other).await;
    let archived = others.iter().filter(|offer| offer.was_sold).count();
    let snapshot = kept.offers.store.snapshot(Shard::of(&seller)).await.unwrap();
    let files = snapshot.scan(&ARCHIVE_FILES, Range::all(100)).await.unwrap();
    assert_eq!(files.iter().map(|(_, file)| file.offers).sum::<i64>(), archived as i64);
}

/// The process dies at its n-th commit, for every n; another goes on.
#[tokio::test]
async fn killed_at_any_step_it_is_finished_later() {
    let (seller, other) = neighbours();
    for commit in 0.. {
        let kept = keep(Engine::Memory, Settings::default()).await;
        let (his, others) = (fill(&kept, &seller).await, fill(&kept, &other).await);
        kept.offers.erase(&seller, "test").await.unwrap();
        let plan = FaultPlan { crash_at_commit: Some(commit), ..FaultPlan::none(commit) };
        let dying = kept.on_store(kept.offers.store.wrapped(|engine| Faults::new(engine, plan)));
        let outcome = run_due(&dying, SellerErasures, Shard::of(&seller)).await;
        run_due(&kept.offers, SellerErasures, Shard::of(&seller)).await.unwrap();
        assert_nothing_left(&kept, &seller, &his).await;
        assert_eq!(exported(&kept.offers, &other).await, sorted(&others), "killed at commit {commit}");
        if outcome.is_ok() {
            return;
        }
    }
}

/// What the feeds had under way when the seller was erased comes when all is done.
#[tokio::test]
async fn what_a_load_of_before_brings_late_is_not_taken() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let early = Feed::new(&kept.offers);
    early.batch(1, 1, records(0..3, 1)).await;
    let wish = async || {
        let asked_at = kept.offers.erase(SELLER, "test").await.unwrap().asked_at;
        run_due(&kept.offers, SellerErasures, Shard::of(SELLER)).await.unwrap();
        asked_at
    };
    let asked_at = wish().await;
    assert_nothing_left(&kept, SELLER, &[]).await;

    // The next batches of the load under way, of one that waited, of a dry run, their ends, and a person's word.
    early.batch(1, 2, records(3..6, 1)).await;
    early.batch(2, 1, records(0..6, 2)).await;
    early.dry_batch(3, 1, records(0..6, 3)).await;
    early.dry_terminal(3, ends(1)).await;
    early.terminal(2, ends(1)).await;
    early.abort(1).await;
    let decision = FeedDecision {
        seller_id: SELLER.into(),
        namespace: NAMESPACE.into(),
        task_id: 2,
        word: Word::Confirm.into(),
        who: "test".into(),
    };
    assert_eq!(offers::autoload::decide(&kept.offers, &decision).await.unwrap(), Decided::Superseded);
    early.sweep().await;
    assert_nothing_left(&kept, SELLER, &[]).await;

    // The seller comes back: the feeds know of the erasure, and say so.
    let back = Feed { after_erasure: asked_at, ..early.clone() };
    back.load(4, records(0..2, 1)).await;
    assert_eq!(exported(&kept.offers, SELLER).await.len(), 2);
    early.batch(1, 3, records(6..9, 1)).await;
    assert_eq!(exported(&kept.offers, SELLER).await.len(), 2);
    // And goes again, at the same moment of the clock: it is another wish.
    assert!(wish().await > asked_at);
    back.batch(4, 2, records(2..4, 1)).await;
    assert_nothing_left(&kept, SELLER, &[]).await;
}

/// An export reads its own seller's rows: one that cannot be read, of another seller of the shard, is nothing to it.
#[tokio::test]
async fn an_export_does_not_read_the_rows_of_others() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let (first, second) = neighbours();
    let own = fill(&kept, &first).await;
    let other = kept.create(&second, "another").await;
    const BROKEN: store::Table<(i64, String), Vec<u8>> =
        store::Table::new("offers", "offer", &["id", "kind"], store::Space::Large);
    let breaking = async |tx: &mut store::Tx| {
        tx.put(&BROKEN, (other.id, "content"), &vec![0xff; 20])?;
        Ok::<_, Error>(())
    };
    kept.offers.store.transact(Shard::of(&second), breaking).await.unwrap();
    assert_eq!(exported(&kept.offers, &first).await, sorted(&own));
}

/// Whoever does not read their export holds no thread: the only one there is does other work meanwhile.
#[test]
fn an_export_that_nobody_reads_holds_no_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let kept = keep(Engine::Memory, Settings::default()).await;
        let seller = "seller-1";
        let mut sold = Vec::new();
        for number in 0..40 {
            let offer = kept.create(seller, &format!("{seller} {number}")).await;
            sold.push(kept.offers.act(id(&offer), Verb::SellHere, Expected::Any, &me()).await.unwrap());
        }
        leave(&kept.offers, Shard::of(seller), sold).await.unwrap();
        let mut export = std::pin::pin!(kept.offers.export(seller));
        assert!(export.next().await.is_some());
        let other = tokio::task::spawn_blocking(|| "done");
        let other = tokio::time::timeout(std::time::Duration::from_secs(20), other).await;
        assert_eq!(other.expect("the thread is free").unwrap(), "done");
        assert_eq!(export.count().await, 39);
    });
}
