//! Dry runs: what a load would do, and nothing of it done.

use model::Status;
use offers::Offers;
use wire::feeds::Outcome;
use wire::offers::opinion::Verdict;

use crate::autoload::{opine, scenarios};
use crate::feed::{Feed, broken, ends, makes_manual, record, records};

scenarios! {
    a_dry_run_tells_and_leaves_nothing
    a_dry_run_beside_a_load_disturbs_nothing
    a_dry_run_sees_duplicates_of_new_ids
    a_dry_run_of_a_feed_that_makes_manual
    an_incomplete_dry_run_leaves_nothing
}

async fn a_dry_run_tells_and_leaves_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..6, 1)).await;
    opine(offers, &feed.offer("sku-1").await, Verdict::Ban, 5).await;
    let (rows, head, all, events) =
        (feed.row_counts().await, feed.head().await, feed.all_offers().await, feed.changes().await.len());
    feed.dry_batch(2, 1, [records(0..2, 1), records(2..3, 7), vec![broken("sku-3")]].concat()).await;
    feed.dry_batch(2, 2, records(8..9, 1)).await;
    feed.dry_batch(2, 2, records(8..9, 1)).await;
    feed.dry_terminal(2, ends(2)).await;
    feed.dry_terminal(2, ends(2)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 1 created, 1 updated, 1 unchanged, 1 rejected, 1 banned, 2 deleted");
    let result = feed.batch_result(2, 1).await;
    let updated = result.records.iter().find(|record| record.outcome() == Outcome::Updated).unwrap();
    let shown: Vec<_> = updated
        .differences
        .iter()
        .map(|field| (field.path.as_str(), field.from.as_str(), field.to.as_str()))
        .collect();
    assert_eq!(shown, [("title", "sku-2 1", "sku-2 7"), ("price", "1.00 RUB", "7.00 RUB")]);
    assert_eq!(feed.row_counts().await, rows);
    assert_eq!((feed.head().await, feed.all_offers().await), (head, all));
    assert_eq!(feed.changes().await.len(), events);
}

async fn a_dry_run_beside_a_load_disturbs_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    feed.batch(2, 1, records(0..2, 1)).await;
    // The dry run has everything, and its number is the greater: still the load's file alone decides.
    feed.dry_batch(3, 1, records(0..5, 1)).await;
    feed.terminal(2, ends(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 2 unchanged, 3 deleted");
    feed.dry_terminal(3, ends(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(3).await, "DONE: 5 unchanged");
    // A late batch of a dry run that is over leaves rows, until the next load ends.
    feed.dry_batch(3, 9, records(0..9, 1)).await;
    feed.load(4, records(0..2, 1)).await;
    let rows = feed.row_counts().await;
    assert_eq!((rows["feed_seen"], rows["feed_batches"], rows["feed_sweeps"]), (0, 0, 0));
}

async fn a_dry_run_sees_duplicates_of_new_ids(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.dry_batch(1, 1, vec![record("a", 1), record("b", 1), record("a", 1)]).await;
    feed.dry_batch(1, 2, vec![record("b", 1), record("c", 1)]).await;
    feed.dry_terminal(1, ends(2)).await;
    feed.sweep().await;
    assert_eq!(feed.end(1).await, "DONE: 3 created, 2 duplicate");
    assert!(feed.row_counts().await.values().all(|rows| *rows == 0));
}

async fn a_dry_run_of_a_feed_that_makes_manual(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    feed.dry_batch(2, 1, records(0..1, 1)).await;
    feed.dry_terminal(2, makes_manual(1)).await;
    feed.sweep().await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 4 made_manual");
    assert_eq!(feed.offer("sku-4").await.status(), Status::Active);
}

async fn an_incomplete_dry_run_leaves_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.dry_batch(1, 1, records(0..3, 1)).await;
    feed.dry_terminal(1, ends(2)).await;
    feed.sweep().await;
    assert_eq!(feed.end(1).await, "INCOMPLETE: 3 created");
    assert!(feed.row_counts().await.values().all(|rows| *rows == 0));
}
