//! Loads from feeds: every case of a batch, on memory and on the embedded engine.

use model::{Content, Status};
use offers::autoload::Batches;
use offers::write::{Expected, Verb, by_api};
use offers::{Offers, Settings};
use topics::Record;
use topics::consume::Handler as _;
use wire::feeds::{FeedRecord, Outcome};
use wire::offers::Opinion;
use wire::offers::opinion::Verdict;

use crate::feed::{Feed, SELLER, broken, ends, record, records, same, skipped};
use crate::recount::recount;
use crate::support::{embedded, in_memory};

/// Runs a scenario on both engines, each with a recount at the end.
macro_rules! scenarios {
    ($($name:ident)*) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                let offers = crate::support::in_memory(offers::Settings::default());
                super::$name(&offers).await;
                crate::recount::recount(&offers, crate::feed::SELLER).await;
            })*
        }
        mod on_disk {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let (offers, _folder) = crate::support::embedded(offers::Settings::default()).await;
                super::$name(&offers).await;
                crate::recount::recount(&offers, crate::feed::SELLER).await;
            })*
        }
    };
}
pub(crate) use scenarios;

scenarios! {
    created_then_unchanged_then_updated
    a_known_batch_is_nothing
    a_task_below_the_current_one_or_ended_is_stale
    an_id_twice_within_a_batch_is_a_duplicate
    an_id_twice_across_batches_is_a_duplicate
    a_rejected_record_leaves_its_offer_and_its_problems_go_when_it_is_good
    a_rejected_new_id_is_known_but_is_no_offer
    a_transient_failure_skips
    a_banned_offer_keeps_its_ban_and_is_updated
    an_expired_offer_is_active_again
    what_a_person_withdrew_or_sold_stays_so
    namespaces_do_not_touch_each_other
    a_record_without_content_needs_it_where_nothing_matches
    what_cannot_be_kept_is_rejected
    several_sellers_and_tasks_in_one_transaction
}

async fn created_then_unchanged_then_updated(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..5, 1)).await;
    assert_eq!(feed.tally(1, 1).await, "5 created");
    assert_eq!(feed.end(1).await, "DONE: 5 created");
    let events = feed.changes().await.len();
    feed.load(2, records(0..5, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 5 unchanged");
    assert_eq!(feed.changes().await.len(), events, "what is unchanged makes no event");
    let before = feed.offer("sku-3").await;
    feed.load(3, [records(0..3, 1), records(3..5, 2)].concat()).await;
    assert_eq!(feed.end(3).await, "DONE: 2 updated, 3 unchanged");
    let after = feed.offer("sku-3").await;
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    assert_eq!(after.content.unwrap().title, "sku-3 2");
    assert_eq!(after.origin.unwrap().task_id, 3);
}

async fn a_known_batch_is_nothing(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.batch(1, 1, records(0..3, 1)).await;
    let rows = feed.row_counts().await;
    feed.batch(1, 1, records(0..3, 2)).await;
    assert_eq!(feed.row_counts().await, rows);
    assert_eq!(feed.tally(1, 1).await, "3 created");
    let twice = [feed.batch_message(1, 2, records(3..4, 1)), feed.batch_message(1, 2, records(3..4, 1))];
    feed.apply(&twice).await;
    assert_eq!(feed.tally(1, 2).await, "1 created");
    assert_eq!(feed.head().await.batches_applied, 2);
}

async fn a_task_below_the_current_one_or_ended_is_stale(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.batch(1, 1, records(0..2, 1)).await;
    feed.batch(2, 1, records(0..2, 1)).await;
    feed.batch(1, 2, records(5..9, 1)).await;
    assert_eq!(feed.tally(1, 2).await, "4 stale");
    feed.terminal(2, ends(1)).await;
    feed.batch(2, 7, records(5..8, 1)).await;
    assert_eq!(feed.tally(2, 7).await, "3 stale");
    feed.sweep().await;
    assert!(feed.row("sku-5").await.is_none());
    // The rows of the task are cleared, but its end is remembered.
    feed.batch(2, 1, records(0..2, 1)).await;
    assert_eq!(feed.head().await.live, 2);
}

async fn an_id_twice_within_a_batch_is_a_duplicate(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1), record("b", 1), record("a", 2)]).await;
    let result = feed.batch_result(1, 1).await;
    assert_eq!(feed.tally(1, 1).await, "2 created, 1 duplicate");
    assert_eq!(result.records.len(), 1);
    assert_eq!(result.records[0].outcome(), Outcome::Duplicate);
    assert_eq!(result.records[0].issues[0].code, "duplicate");
    assert_eq!(feed.offer("a").await.content.unwrap().title, "a 1", "the first one wins");
}

async fn an_id_twice_across_batches_is_a_duplicate(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.batch(1, 1, records(0..3, 1)).await;
    feed.batch(1, 2, records(2..5, 2)).await;
    assert_eq!(feed.tally(1, 2).await, "2 created, 1 duplicate");
    // Also in one transaction, and where the first one was not good.
    let both = [
        feed.batch_message(1, 3, vec![broken("x"), record("y", 1)]),
        feed.batch_message(1, 4, vec![record("x", 1), record("y", 1), record("sku-0", 3)]),
    ];
    feed.apply(&both).await;
    assert_eq!(feed.tally(1, 4).await, "3 duplicate");
    assert_eq!(feed.offer("sku-2").await.content.unwrap().title, "sku-2 1");
}

async fn a_rejected_record_leaves_its_offer_and_its_problems_go_when_it_is_good(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1), record("b", 1)]).await;
    let before = feed.offer("a").await;
    feed.load(2, vec![broken("a"), record("b", 1)]).await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 1 rejected");
    let after = feed.offer("a").await;
    assert_eq!(
        (after.version, &after.content),
        (before.version, &before.content),
        "the offer stays as it is"
    );
    assert!(after.feed_problems);
    let problems = |offers: Offers, id: i64| async move {
        let key = (id, offers::tables::FEED_PROBLEMS);
        offers.store.get(&offers::tables::OFFER, store::Shard::of(SELLER), key).await.unwrap()
    };
    let Some(wire::offers::OfferPart { kind: Some(wire::offers::offer_part::Kind::Feed(part)) }) =
        problems(offers.clone(), after.id).await
    else {
        panic!("the problems are kept")
    };
    assert_eq!((part.task_id, part.issues[0].code.as_str()), (2, "geo_missing"));
    recount(offers, SELLER).await;
    // Good again, with the content of old: only the problems go.
    feed.load(3, vec![record("a", 1), record("b", 1)]).await;
    assert_eq!(feed.end(3).await, "DONE: 2 unchanged");
    assert!(!feed.offer("a").await.feed_problems);
    assert!(problems(offers.clone(), after.id).await.is_none());
    assert!(!feed.row("a").await.unwrap().attention);
}

async fn a_rejected_new_id_is_known_but_is_no_offer(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![broken("a"), record("b", 1)]).await;
    assert_eq!(feed.end(1).await, "DONE: 1 created, 1 rejected");
    let row = feed.row("a").await.unwrap();
    assert_eq!((row.offer_id, feed.head().await.live), (0, 1));
    feed.load(2, vec![record("a", 1), record("b", 1)]).await;
    assert_eq!(feed.end(2).await, "DONE: 1 created, 1 unchanged");
    assert_eq!(feed.row("a").await.unwrap().ordinal, row.ordinal);
    // Gone from the file without ever having been an offer, it vanishes silently.
    feed.load(3, vec![broken("c"), record("a", 1), record("b", 1)]).await;
    feed.load(4, vec![record("a", 1), record("b", 1)]).await;
    assert_eq!(feed.end(4).await, "DONE: 2 unchanged");
    assert!(feed.row("c").await.is_none());
}

async fn a_transient_failure_skips(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1)]).await;
    feed.load(2, vec![skipped("a"), skipped("b")]).await;
    assert_eq!(feed.end(2).await, "DONE: 2 skipped");
    let result = feed.batch_result(2, 1).await;
    assert_eq!(result.records[0].reason, "catalog_unavailable");
    assert_eq!(feed.offer("a").await.status(), Status::Active, "it is not deleted");
    assert!(!feed.offer("a").await.feed_problems);
}

pub(crate) fn opinion(offer: &model::Offer, verdict: Verdict, timestamp: i64) -> Opinion {
    Opinion {
        offer_id: offers::changes::printed(offer.id),
        verdict: verdict.into(),
        reasons: vec!["fake".into()],
        text: "a fake".into(),
        timestamp,
        moderator: "m".into(),
    }
}

pub(crate) async fn opine(offers: &Offers, offer: &model::Offer, verdict: Verdict, timestamp: i64) {
    let id = model::OfferId::from_raw(offer.id).unwrap();
    offers.opine(id, &opinion(offer, verdict, timestamp)).await.unwrap();
}

pub(crate) async fn act(offers: &Offers, offer: &model::Offer, verb: Verb) {
    let id = model::OfferId::from_raw(offer.id).unwrap();
    offers.act(id, verb, Expected::Any, &by_api("test", verb.reason())).await.unwrap();
}

async fn a_banned_offer_keeps_its_ban_and_is_updated(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1)]).await;
    opine(offers, &feed.offer("a").await, Verdict::Ban, 5).await;
    feed.load(2, vec![record("a", 1)]).await;
    assert_eq!(feed.end(2).await, "DONE: 1 banned");
    assert_eq!(feed.batch_result(2, 1).await.records[0].issues[0].code, "banned");
    feed.load(3, vec![record("a", 2)]).await;
    assert_eq!(feed.end(3).await, "DONE: 1 banned");
    let offer = feed.offer("a").await;
    assert_eq!((offer.status(), offer.content.clone().unwrap().title), (Status::Banned, "a 2".into()));
    opine(offers, &offer, Verdict::Unban, 6).await;
    feed.load(4, vec![record("a", 2)]).await;
    assert_eq!(feed.end(4).await, "DONE: 1 unchanged");
    assert_eq!(feed.offer("a").await.status(), Status::Active);
}

/// Makes an offer expired, as the passing of time does.
async fn expire(offers: &Offers, offer: &model::Offer) {
    let actor = wire::offers::Actor {
        kind: wire::offers::actor::Kind::System.into(),
        reason: "expired".into(),
        ..Default::default()
    };
    let expire = async |tx: &mut store::Tx| {
        let mut changes = offers::changes::Changes::new(offers, offers.clock.now());
        let mut after = offer.clone();
        after.set_status(Status::Expired);
        changes.save(tx, Some(offer), after, &actor)?;
        changes.finish(tx).await
    };
    offers.store.transact(store::Shard::of(SELLER), expire).await.unwrap();
}

async fn an_expired_offer_is_active_again(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1), record("b", 1)]).await;
    expire(offers, &feed.offer("a").await).await;
    expire(offers, &feed.offer("b").await).await;
    feed.load(2, vec![record("a", 1), same("b", 1)]).await;
    assert_eq!(feed.end(2).await, "DONE: 2 updated");
    for id in ["a", "b"] {
        let offer = feed.offer(id).await;
        assert_eq!((offer.status(), offer.content.unwrap().title), (Status::Active, format!("{id} 1")));
    }
}

async fn what_a_person_withdrew_or_sold_stays_so(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, records(0..3, 1)).await;
    act(offers, &feed.offer("sku-0").await, Verb::Withdraw).await;
    act(offers, &feed.offer("sku-1").await, Verb::SellHere).await;
    act(offers, &feed.offer("sku-2").await, Verb::SellElsewhere).await;
    feed.load(2, records(0..3, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 3 unchanged");
    feed.load(3, records(0..3, 2)).await;
    assert_eq!(feed.end(3).await, "DONE: 3 updated");
    assert_eq!(feed.offer("sku-0").await.status(), Status::Inactive);
    assert_eq!(feed.offer("sku-1").await.status(), Status::SoldHere);
    assert_eq!(feed.offer("sku-2").await.status(), Status::SoldElsewhere);
}

async fn namespaces_do_not_touch_each_other(offers: &Offers) {
    let (one, two) = (Feed::new(offers), Feed::in_namespace(offers, "second"));
    one.load(1, records(0..3, 1)).await;
    two.load(1, records(0..3, 1)).await;
    assert_eq!(two.end(1).await, "DONE: 3 created");
    one.load(2, Vec::new()).await;
    assert_eq!(one.end(2).await, "DONE: 3 deleted");
    assert_eq!((one.head().await.live, two.head().await.live), (0, 3));
    two.load(2, records(0..3, 1)).await;
    assert_eq!(two.end(2).await, "DONE: 3 unchanged");
}

async fn a_record_without_content_needs_it_where_nothing_matches(offers: &Offers) {
    let feed = Feed::new(offers);
    feed.load(1, vec![record("a", 1), record("b", 1), broken("c")]).await;
    feed.load(2, vec![same("a", 1), same("b", 2), same("c", 1), same("d", 1)]).await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 3 skipped");
    for result in feed.batch_result(2, 1).await.records {
        assert_eq!(result.reason, "content_needed", "{}", result.external_id);
    }
    assert_eq!(feed.offer("b").await.status(), Status::Active, "it is not deleted");
    feed.load(3, ["a", "b", "c", "d"].map(|id| record(id, 2)).to_vec()).await;
    assert_eq!(feed.end(3).await, "DONE: 2 created, 2 updated");
}

async fn what_cannot_be_kept_is_rejected(offers: &Offers) {
    let feed = Feed::new(offers);
    let large = Content { description: "x".repeat(102_401), ..Content::default() };
    let large = FeedRecord { content: Some(large), ..record("large", 1) };
    feed.load(
        1,
        vec![large, record("", 1), record("a\0b", 1), record(&"x".repeat(300), 1), record("good", 1)],
    )
    .await;
    assert_eq!(feed.end(1).await, "DONE: 1 created, 4 rejected");
    let codes: Vec<_> =
        feed.batch_result(1, 1).await.records.iter().map(|record| record.issues[0].code.clone()).collect();
    assert_eq!(codes, ["too_large", "id_missing", "control_character", "too_long"]);
}

async fn several_sellers_and_tasks_in_one_transaction(offers: &Offers) {
    let (one, two) = (Feed::new(offers), Feed::in_namespace(offers, "second"));
    let messages = [
        one.batch_message(1, 1, records(0..2, 1)),
        two.batch_message(4, 1, records(0..2, 1)),
        one.batch_message(1, 2, records(2..4, 1)),
        one.batch_message(2, 1, records(0..4, 1)),
        one.batch_message(1, 3, records(8..9, 1)),
        one.batch_message(2, 2, records(3..5, 1)),
    ];
    one.apply(&messages).await;
    assert_eq!(one.tally(1, 2).await, "2 created");
    assert_eq!(one.tally(1, 3).await, "1 stale");
    assert_eq!(one.tally(2, 1).await, "4 unchanged");
    assert_eq!(one.tally(2, 2).await, "1 created, 1 duplicate");
    assert_eq!(two.tally(4, 1).await, "2 created");
    assert_eq!((one.head().await.live_before, one.head().await.live), (4, 5));
}

#[tokio::test]
async fn the_quota_rejects_what_is_over_it() {
    let offers = in_memory(Settings { max_offers: 3, ..Settings::default() });
    let feed = Feed::new(&offers);
    feed.load(1, records(0..5, 1)).await;
    assert_eq!(feed.end(1).await, "DONE: 3 created, 2 rejected");
    let result = feed.batch_result(1, 1).await;
    assert_eq!(result.records[0].issues[0].code, "quota_offers");
    assert_eq!(result.records[0].issues[0].parameters, ["3"]);
    // Room was made: the same records become offers.
    feed.load(2, records(2..5, 1)).await;
    assert_eq!(feed.end(2).await, "DONE: 1 unchanged, 2 rejected, 2 deleted");
    feed.load(3, records(2..5, 1)).await;
    assert_eq!(feed.end(3).await, "DONE: 2 created, 1 unchanged");
    recount(&offers, SELLER).await;
}

/// The page's budget: content, feed row, ordinal row, three presets.
#[tokio::test(flavor = "multi_thread")]
async fn a_created_offer_costs_six_rows() {
    let (offers, _folder) = embedded(Settings::default()).await;
    let feed = Feed::new(&offers);
    feed.batch(1, 1, records(0..1, 1)).await;
    let before = feed.row_counts().await;
    feed.batch(1, 2, records(1..101, 1)).await;
    let after = feed.row_counts().await;
    let grown: Vec<_> = after
        .iter()
        .filter(|(table, count)| before[*table] != **count)
        .map(|(table, count)| (*table, count - before[table]))
        .collect();
    let expected = [
        ("feed", 100),
        ("feed_batches", 1),
        ("feed_ordinals", 100),
        ("offer", 100),
        ("user_offer_presets", 300),
    ];
    assert_eq!(grown, expected, "six rows for each offer, and one for the batch");
}

#[tokio::test]
async fn a_message_that_says_nothing_is_refused() {
    let offers = in_memory(Settings::default());
    let feed = Feed::new(&offers);
    let good = feed.batch_message(1, 1, records(0..1, 1));
    let refused = |record: Record| {
        let feed = feed.clone();
        async move { feed.try_apply(&[record]).await.unwrap_err().to_string() }
    };
    let elsewhere = Record { key: b"seller-2".to_vec(), ..good.clone() };
    assert!(refused(elsewhere).await.contains("not its seller"));
    assert!(refused(Record { payload: vec![0xff].into(), ..good.clone() }).await.contains("decode"));
    assert!(refused(feed.batch_message(0, 1, Vec::new())).await.contains("no task 0"));
    assert!(refused(feed.batch_message(1, 0, Vec::new())).await.contains("number from 1"));
    let nameless = Feed::in_namespace(&offers, "No Such");
    assert!(refused(nameless.batch_message(1, 1, Vec::new())).await.contains("namespace"));
    assert!(Batches(offers.clone()).decode(&Record { key: Vec::new(), ..good }).is_err());
}
