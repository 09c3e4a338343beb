//! A process that dies at any commit: the next one finishes exactly.

use std::collections::BTreeMap;

use offers::autoload::sweep::Sweeps;
use offers::{Offers, Settings};
use store::{FaultPlan, Faults, Shard};
use topics::Record;
use wire::feeds::FeedTerminal;

use crate::feed::{Feed, SELLER, ends, makes_manual, records};
use crate::kept::run_due;
use crate::recount::recount;
use crate::support::in_memory;

/// What loads and their sweeps left: each offer's status, and all that was told.
#[derive(Debug, PartialEq)]
struct Outcome {
    offers: BTreeMap<String, (i32, i64)>,
    told: Vec<String>,
    events: usize,
    rows: BTreeMap<&'static str, usize>,
}

/// Loads that create, update, delete, make manual and bring back, in messages as the topic has them.
fn messages(feed: &Feed) -> Vec<Record> {
    let load = |task: i64, batches: [Vec<wire::feeds::FeedRecord>; 2], terminal: FeedTerminal| {
        let [first, second] = batches;
        [
            feed.batch_message(task, 1, first),
            feed.batch_message(task, 2, second),
            feed.terminal_message(task, terminal),
        ]
    };
    [
        load(1, [records(0..700, 1), records(700..1_300, 1)], ends(2)),
        load(2, [records(0..10, 2), records(10..40, 1)], ends(2)),
        load(3, [records(30..80, 1), records(0..5, 1)], makes_manual(2)),
    ]
    .concat()
}

/// Applies what is left and sweeps to the end; says how far it came.
async fn go(offers: &Offers, messages: &[Record], done: &mut usize) -> bool {
    let feed = Feed::new(offers);
    while *done < messages.len() {
        if feed.try_apply(&messages[*done..=*done]).await.is_err() {
            return false;
        }
        *done += 1;
        if (*done).is_multiple_of(3) && run_due(offers, Sweeps, Shard::of(SELLER)).await.is_err() {
            return false;
        }
    }
    true
}

async fn outcome(offers: &Offers) -> Outcome {
    let feed = Feed::new(offers);
    let mut told = Vec::new();
    for task in 1..=3 {
        told.extend(feed.results(task).await.iter().map(|kind| format!("{task} {kind:?}")));
    }
    let all = feed.all_offers().await;
    let title = |offer: &model::Offer| offer.content.clone().unwrap_or_default().title;
    Outcome {
        offers: all.iter().map(|offer| (title(offer), (offer.status, offer.version))).collect(),
        told,
        events: feed.changes().await.len(),
        rows: feed.row_counts().await,
    }
}

#[tokio::test]
async fn a_death_at_any_commit_changes_nothing_of_the_outcome() {
    let expected = {
        let offers = in_memory(Settings::default());
        let messages = messages(&Feed::new(&offers));
        let mut done = 0;
        assert!(go(&offers, &messages, &mut done).await);
        recount(&offers, SELLER).await;
        outcome(&offers).await
    };
    let mut deaths = 0;
    // Each commit twice: whether the last one is there, is left to chance.
    for (commit, seed) in (0..).flat_map(|commit| [(commit, 2 * commit), (commit, 2 * commit + 1)]) {
        let offers = in_memory(Settings::default());
        let messages = messages(&Feed::new(&offers));
        let plan = FaultPlan { crash_at_commit: Some(commit), ..FaultPlan::none(seed) };
        let mortal =
            Offers { store: offers.store.wrapped(|engine| Faults::new(engine, plan)), ..offers.clone() };
        let mut done = 0;
        let survived = go(&mortal, &messages, &mut done).await;
        if survived {
            break;
        }
        deaths += 1;
        // The topic gives again what was not acknowledged; the sweeper finds its row.
        run_due(&offers, Sweeps, Shard::of(SELLER)).await.unwrap();
        assert!(go(&offers, &messages, &mut done).await);
        run_due(&offers, Sweeps, Shard::of(SELLER)).await.unwrap();
        recount(&offers, SELLER).await;
        assert_eq!(outcome(&offers).await, expected, "after a death at commit {commit}");
    }
    assert!(deaths >= 30, "only {deaths} deaths");
}
