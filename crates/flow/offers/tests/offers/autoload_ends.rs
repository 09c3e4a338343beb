//! How loads end: sweeps, the guard's hold, decisions, aborts, removal.

use std::time::Duration;

use model::{Offer, Status};
use offers::autoload::sweep::Sweeps;
use offers::autoload::{DeadFeedRows, Decided, Decisions, decide};
use offers::tables::{FEED_BATCHES, FEED_DECISIONS, FEED_SEEN, FEED_SWEEPS};
use offers::write::Verb;
use offers::{Offers, Settings};
use prost::Message as _;
use store::{Range, Read as _, Shard};
use topics::Record;
use topics::consume::Handler as _;
use wire::feeds::feed_decision::Word;
use wire::feeds::feed_result::Kind;
use wire::feeds::{FeedDecision, FeedTerminal};

use crate::autoload::{act, scenarios};
use crate::feed::{Feed, NAMESPACE, SELLER, broken, ends, guarded, makes_manual, records, words};
use crate::support::in_memory;

scenarios! {
    what_the_file_no_longer_has_goes_and_the_rows_of_the_task_too
    a_large_sweep_goes_in_numbered_steps
    a_newer_task_saves_what_it_has
    the_last_number_that_a_task_can_have_is_swept_too
    a_missing_batch_deletes_nothing
    an_aborted_task_deletes_nothing_and_is_over
    an_abort_before_any_batch_leaves_an_older_hold
    a_late_end_is_superseded_and_a_repeat_is_nothing
    a_removal_passes_the_guard
    a_sold_offer_stays_sold_when_its_feed_drops_it
    the_guard_holds_until_confirmed
    the_guard_holds_until_rejected
    a_newer_task_ends_a_hold
    a_newer_task_ends_a_hold_that_is_being_counted
    a_word_before_the_hold_waits
    a_handful_may_go_without_asking
    the_ledger_adds_up
}

fn decision(task: i64, word: Word) -> FeedDecision {
    FeedDecision {
        seller_id: SELLER.into(),
        namespace: NAMESPACE.into(),
        task_id: task,
        word: word.into(),
        who: "anna".into(),
    }
}

async fn say(offers: &Offers, task: i64, word: Word) -> Decided {
    decide(offers, &decision(task, word)).await.unwrap()
}

/// Bits, batches, sweeps and waiting words: nothing of it outlives its task.
async fn leftovers(feed: &Feed) -> usize {
    let snapshot = feed.snapshot().await;
    snapshot.scan(&FEED_SEEN, Range::all(1_000)).await.unwrap().len()
        + snapshot.scan(&FEED_BATCHES, Range::all(1_000)).await.unwrap().len()
        + snapshot.scan(&FEED_SWEEPS, Range::all(1_000)).await.unwrap().len()
        + snapshot.scan(&FEED_DECISIONS, Range::all(1_000)).await.unwrap().len()
}

async fn what_the_file_no_longer_has_goes_and_the_rows_of_the_task_too(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    assert_eq!(leftovers(&feed).await, 0);
    let gone = feed.offer("sku-4").await;
    feed.load(2, records(0..3, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 3 unchanged, 2 deleted");
    assert_eq!(leftovers(&feed).await, 0);
    let row = feed.row("sku-4").await.unwrap();
    assert_eq!((row.offer_id, row.dead_at), (gone.id, offers.clock.now().0), "the row stays, dead");
    let deleted = feed.offer("sku-4").await;
    assert_eq!((deleted.status(), deleted.version), (Status::Deleted, gone.version + 1));
    let change = feed.changes().await.into_iter().rfind(|change| change.version == deleted.version).unwrap();
    assert_eq!(change.actor.unwrap().reason, "missing_in_feed");
}

async fn a_large_sweep_goes_in_numbered_steps(offers: &Offers) {
    let feed = Feed::new(offers);
    for number in 0..3 {
        feed.batch(1, number + 1, records((number as usize * 900)..(number as usize + 1) * 900, 1)).await;
    }
    feed.terminal(1, ends(3)).await;
    feed.sweep().await;
    feed.load(2, records(100..200, 1)).await;
    let kinds = feed.results(2).await;
    let steps: Vec<_> = kinds
        .iter()
        .filter_map(|kind| match kind {
            Kind::Sweep(step) => Some((step.number, step.deleted)),
            _ => None,
        })
        .collect();
    assert_eq!(steps, [(1, 1_000), (2, 1_000), (3, 600)]);
    assert_eq!(feed.end(2).await, "DONE: 100 unchanged, 2600 deleted");
    assert_eq!(feed.ends(2).await[0].sweeps, 3);
    assert_eq!(feed.head().await.live, 100);
}

async fn a_newer_task_saves_what_it_has(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..6, 1)).await;
    feed.batch(2, 1, records(0..2, 1)).await;
    feed.terminal(2, ends(1)).await;
    // Before the sweep runs, the next task brings one of the missing, and something new.
    feed.batch(3, 1, [records(2..3, 1), records(8..9, 1)].concat()).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 2 unchanged, 3 deleted");
    assert_eq!(feed.offer("sku-2").await.status(), Status::Active);
    // What went meanwhile comes back with its id.
    let gone = feed.offer("sku-5").await;
    feed.batch(3, 2, records(3..6, 1)).await;
    assert_eq!(feed.tally(3, 2).await, "3 created");
    assert_eq!(feed.offer("sku-5").await.id, gone.id);
    feed.terminal(3, ends(2)).await;
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "DONE: 4 created, 1 unchanged, 2 deleted");
}

async fn the_last_number_that_a_task_can_have_is_swept_too(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    feed.load(i64::MAX, records(0..2, 1)).await;
    assert_eq!(feed.end(i64::MAX).await, "DONE: 2 unchanged, 1 deleted");
}

async fn a_missing_batch_deletes_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    feed.batch(2, 1, records(0..2, 1)).await;
    feed.terminal(2, ends(2)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "INCOMPLETE: 2 unchanged");
    assert_eq!(feed.ends(2).await[0].batches_applied, 1);
    assert_eq!(feed.head().await.live, 5);
    // The letter that was dead is tried again, and counts; the next whole load sweeps as ever.
    feed.batch(2, 2, records(2..4, 2)).await;
    assert_eq!(feed.tally(2, 2).await, "2 updated");
    feed.load(3, records(0..2, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 2 unchanged, 3 deleted");
    assert_eq!(leftovers(&feed).await, 0);
    // A task of which nothing came but its end.
    feed.terminal(4, ends(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(4).await, "INCOMPLETE: ");
    assert_eq!(feed.head().await.live, 2);
}

async fn an_aborted_task_deletes_nothing_and_is_over(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    feed.batch(2, 1, [records(0..2, 2), records(7..8, 1)].concat()).await;
    feed.abort(2).await;
    feed.abort(2).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "ABORTED: 1 created, 2 updated");
    assert_eq!((feed.head().await.live, leftovers(&feed).await), (6, 0));
    feed.batch(2, 2, records(2..5, 2)).await;
    assert_eq!(feed.tally(2, 2).await, "3 stale");
    feed.terminal(2, ends(1)).await;
    feed.sweep().await;
    assert_eq!(feed.head().await.live, 6);
    feed.load(3, records(0..5, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 2 updated, 3 unchanged, 1 deleted");
}

/// A load of a hundred of which sixty are gone, held.
async fn held(feed: &Feed) {
    feed.load(1, records(0..100, 1)).await;
    feed.batch(2, 1, records(0..40, 1)).await;
    feed.terminal(2, guarded(1)).await;
    feed.sweep().await;
    let held = feed.results(2).await.pop().unwrap();
    assert!(matches!(&held, Kind::Held(held) if (held.would_go, held.live_before) == (60, 100)), "{held:?}");
    assert_eq!(feed.head().await.live, 100);
    feed.sweep().await;
    assert_eq!(feed.results(2).await.len(), 2, "a hold is told once");
}

async fn an_abort_before_any_batch_leaves_an_older_hold(offers: &Offers) {
    let feed = Feed::new(offers);
    held(&feed).await;
    feed.abort(3).await;
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "ABORTED: ");
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Done);
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 40 unchanged, 60 deleted", "its bits were still there");
}

async fn a_late_end_is_superseded_and_a_repeat_is_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.batch(1, 1, records(0..5, 1)).await;
    feed.batch(2, 1, records(0..3, 1)).await;
    feed.terminal(1, ends(1)).await;
    assert_eq!(feed.end(1).await, "SUPERSEDED: ");
    feed.terminal(2, ends(1)).await;
    feed.terminal(2, ends(1)).await;
    feed.batch(3, 1, records(0..3, 1)).await;
    feed.terminal(2, ends(1)).await;
    feed.sweep().await;
    feed.terminal(3, ends(1)).await;
    feed.sweep().await;
    feed.terminal(3, ends(1)).await;
    assert_eq!(feed.end(2).await, "DONE: 3 unchanged, 2 deleted");
    assert_eq!(feed.end(3).await, "DONE: 3 unchanged");
}

async fn a_removal_passes_the_guard(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..100, 1)).await;
    let next = feed.head().await.next_ordinal;
    feed.terminal(2, FeedTerminal { removal: true, ..guarded(0) }).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 100 deleted");
    assert_eq!((feed.head().await.live, feed.head().await.next_ordinal), (0, next));
    assert_eq!(leftovers(&feed).await, 0);
    // The feed is made again and goes on counting; what it brings back is what it was.
    feed.load(3, records(0..50, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 50 created");
    assert_eq!(feed.row("sku-0").await.unwrap().ordinal, next);
    feed.terminal(4, FeedTerminal { removal: true, ..makes_manual(0) }).await;
    feed.sweep().await;
    assert_eq!(feed.end(4).await, "DONE: 50 made_manual");
    assert_eq!(feed.offer("sku-0").await.status(), Status::Active);
}

async fn a_sold_offer_stays_sold_when_its_feed_drops_it(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    let sold = [feed.offer("sku-3").await, feed.offer("sku-4").await];
    act(offers, &sold[0], Verb::SellHere).await;
    act(offers, &sold[1], Verb::SellElsewhere).await;
    // Also when a load has looked at it since.
    feed.load(2, [records(0..4, 1), records(4..5, 2)].concat()).await;
    feed.dry_batch(3, 1, records(0..2, 1)).await;
    feed.dry_terminal(3, ends(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "DONE: 2 unchanged, 1 deleted", "a dry run foretells it");
    feed.load(4, records(0..2, 1)).await;
    assert_eq!(feed.end(4).await, "DONE: 2 unchanged, 1 deleted");
    let now = read_all(&feed, &sold).await;
    assert_eq!(now.each_ref().map(Offer::status), [Status::SoldHere, Status::SoldElsewhere]);
    assert!(feed.row("sku-3").await.is_none(), "only its feed row goes");
    assert_eq!(feed.head().await.live, 2);
    // On sale again it is the seller's own, since the feed no longer says anything of it.
    act(offers, &now[0], Verb::Activate).await;
    let back = &read_all(&feed, &sold).await[0];
    assert!(back.status() == Status::Active && !offers::presets::is_from_feed(back));
    // What the feed brings under the same id is another offer.
    feed.load(5, records(0..4, 1)).await;
    assert_eq!(feed.end(5).await, "DONE: 2 created, 2 unchanged");
    assert_ne!(feed.offer("sku-3").await.id, sold[0].id);
    // And stays the feed's when the sold one is deleted.
    feed.load(6, records(0..5, 1)).await;
    act(offers, &now[1], Verb::Delete).await;
    assert!(feed.row("sku-4").await.is_some());
}

async fn read_all(feed: &Feed, offers: &[Offer; 2]) -> [Offer; 2] {
    let all = feed.all_offers().await;
    offers.each_ref().map(|offer| all.iter().find(|other| other.id == offer.id).unwrap().clone())
}

async fn the_guard_holds_until_confirmed(offers: &Offers) {
    let feed = Feed::new(offers);
    held(&feed).await;
    let record = Record {
        partition: 0,
        offset: 0,
        key: SELLER.into(),
        payload: decision(2, Word::Confirm).encode_to_vec().into(),
        headers: Vec::new(),
        timestamp: offers.clock.now(),
    };
    let handler = Decisions(offers.clone());
    let (shard, said) = handler.decode(&record).unwrap();
    assert_eq!(shard, Shard::of(SELLER));
    offers.store.transact(shard, async |tx| handler.apply(tx, vec![said]).await).await.unwrap();
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Done, "said twice");
    assert_eq!(say(offers, 2, Word::Reject).await, Decided::Superseded, "the first word counts");
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 40 unchanged, 60 deleted");
    assert_eq!((feed.head().await.live, leftovers(&feed).await), (40, 0));
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Superseded, "it is long over");
}

async fn the_guard_holds_until_rejected(offers: &Offers) {
    let feed = Feed::new(offers);
    held(&feed).await;
    assert_eq!(say(offers, 2, Word::Reject).await, Decided::Done);
    assert_eq!(say(offers, 2, Word::Reject).await, Decided::Done);
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Superseded);
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "REJECTED_BY_PERSON: 40 unchanged");
    assert_eq!((feed.head().await.live, leftovers(&feed).await), (100, 0));
}

async fn a_newer_task_ends_a_hold(offers: &Offers) {
    let feed = Feed::new(offers);
    held(&feed).await;
    feed.batch(3, 1, records(0..90, 1)).await;
    assert_eq!(feed.end(2).await, "SUPERSEDED: 40 unchanged");
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Superseded);
    feed.terminal(3, guarded(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "DONE: 90 unchanged, 10 deleted");
    assert_eq!(leftovers(&feed).await, 0);
}

async fn a_newer_task_ends_a_hold_that_is_being_counted(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..100, 1)).await;
    feed.batch(2, 1, records(0..40, 1)).await;
    feed.terminal(2, guarded(1)).await;
    feed.batch(3, 1, records(0..1, 1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "SUPERSEDED: 40 unchanged");
    assert_eq!(feed.head().await.live, 100);
    // The terminal of a newer task alone does it, too.
    feed.terminal(3, guarded(1)).await;
    feed.sweep().await;
    assert!(feed.ends(3).await.is_empty(), "held");
    feed.terminal(4, guarded(1)).await;
    assert_eq!(feed.end(3).await, "SUPERSEDED: 1 unchanged");
}

async fn a_word_before_the_hold_waits(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..100, 1)).await;
    feed.batch(2, 1, records(0..40, 1)).await;
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Waits);
    feed.terminal(2, guarded(1)).await;
    assert_eq!(say(offers, 2, Word::Confirm).await, Decided::Waits);
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 40 unchanged, 60 deleted");
    feed.batch(3, 1, Vec::new()).await;
    feed.terminal(3, guarded(1)).await;
    assert_eq!(say(offers, 3, Word::Reject).await, Decided::Waits);
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "REJECTED_BY_PERSON: ");
    assert_eq!(leftovers(&feed).await, 0);
}

async fn a_handful_may_go_without_asking(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, [records(0..20, 1), vec![broken("x"), broken("y")]].concat()).await;
    // Nineteen offers and two rows without one: below the guard's least.
    feed.batch(2, 1, records(0..1, 1)).await;
    feed.terminal(2, guarded(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 19 deleted");
    // Twenty, but exactly the allowed half.
    feed.load(3, records(0..40, 1)).await;
    feed.batch(4, 1, records(0..20, 1)).await;
    feed.terminal(4, guarded(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(4).await, "DONE: 20 unchanged, 20 deleted");
}

async fn the_ledger_adds_up(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..30, 1)).await;
    let batches = [
        [records(0..10, 1), records(10..15, 2)].concat(),
        [records(14..16, 1), records(30..35, 1), vec![broken("sku-20"), broken("new")]].concat(),
        Vec::new(),
    ];
    let sent: i64 = batches.iter().map(|records| records.len() as i64).sum();
    for (number, records) in (1..).zip(batches) {
        feed.batch(2, number, records).await;
    }
    feed.terminal(2, ends(3)).await;
    feed.sweep().await;
    let mut counted = 0;
    for number in 1..=3 {
        let tally = feed.batch_result(2, number).await.tally.unwrap();
        counted += tally.created + tally.updated + tally.unchanged + tally.rejected + tally.banned;
        counted += tally.duplicate + tally.skipped + tally.stale;
    }
    assert_eq!(counted, sent);
    let end = &feed.ends(2).await[0];
    assert_eq!(
        words(&end.totals.unwrap()),
        "5 created, 5 updated, 11 unchanged, 2 rejected, 1 duplicate, 13 deleted"
    );
    assert_eq!((end.batches_applied, end.sweeps), (3, 1));
    assert_eq!(feed.head().await.live, 30 + 5 - 13);
}

#[tokio::test(start_paused = true)]
async fn the_sweeper_is_woken_and_forgets_old_dead_rows() {
    let offers = in_memory(Settings::default());
    let feed = Feed::new(&offers);
    feed.load(1, records(0..3, 1)).await;
    feed.load(2, records(0..1, 1)).await;
    let shutdown = kit::Shutdown::new();
    let sweeps = cluster::work::run(offers.cluster.clone(), Sweeps(offers.clone()), shutdown.clone());
    let rows = cluster::work::run(offers.cluster.clone(), DeadFeedRows(offers.clone()), shutdown.clone());
    let sweeper = tokio::spawn(async move { tokio::join!(sweeps, rows) });
    let until = async |what: &str, holds: &(dyn Fn() -> futures::future::BoxFuture<'static, bool> + Sync)| {
        for _ in 0..10_000 {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never came true: {what}");
    };
    feed.batch(3, 1, Vec::new()).await;
    feed.terminal(3, ends(1)).await;
    let ended = feed.clone();
    until("the load ends by a wake-up", &move || {
        let feed = ended.clone();
        Box::pin(async move { !feed.ends(3).await.is_empty() })
    })
    .await;
    assert!(feed.row("sku-1").await.is_some());
    offers.clock.advance(Duration::from_secs(31 * 86_400));
    let rows = feed.clone();
    until("the dead rows are forgotten", &move || {
        let feed = rows.clone();
        Box::pin(async move { feed.row("sku-1").await.is_none() && feed.row("sku-0").await.is_none() })
    })
    .await;
    shutdown.call();
    sweeper.await.unwrap();
}
