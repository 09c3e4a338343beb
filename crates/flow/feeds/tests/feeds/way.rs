//! The whole way: a file goes in, the history tells what became of it.

use feeds::FeedKey;
use feeds::config::Settings;
use feeds::errors::{self, Filter};
use feeds::upload::Upload;
use model::{IssueType, Level};
use store::Store;
use wire::feeds::feed_decision::Word;
use wire::feeds::{OnMissing, TaskStatus};

use crate::world::{World, goods, many, schema, seller};

#[tokio::test(start_paused = true)]
async fn an_offer_whose_record_is_too_long_is_not_taken_for_one_that_is_gone() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200)])).await;
    let long = format!("{{\"id\":\"2\",\"title\":\"Saw\",\"description\":\"{}\"}}\n", "x".repeat(5 << 20));
    let load = world.load(&key, &(goods(&[("1", "Drill", 100)]) + &long)).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((tally.unchanged, tally.rejected, tally.deleted), (1, 1, 0));
    assert_eq!(world.offers.live(&key), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_file_becomes_a_history_with_every_offer_in_it() {
    let world = World::new().await;
    let key = seller();
    let file = goods(&[
        ("1", "Drill", 100),
        ("2", "Saw", 200),
        ("2", "Saw again", 200),
        ("3", "bad category", 1),
        ("4", "odd place", 1),
        ("5", "later", 1),
    ]);
    let load = world.load(&key, &file).await;
    assert_eq!(load.task.status(), TaskStatus::TaskSucceeded, "{:?}", load.task.error);
    let tally = load.statistics.tally.unwrap();
    assert_eq!((tally.created, tally.duplicate, tally.rejected, tally.skipped), (3, 1, 1, 1));
    assert_eq!((load.task.records, load.task.batches), (6, 1));
    assert_eq!((load.statistics.errors, load.statistics.warnings), (2, 1));
    assert_eq!(world.offers.live(&key), ["1", "2", "4"]);

    let all = errors::list(&world.feeds, &key, load.task_id, &Filter::default(), None, 10).await.unwrap();
    let lines: Vec<_> = all.iter().map(|found| (found.external_id.as_str(), found.error.line)).collect();
    assert_eq!(lines, [("2", 3), ("3", 4), ("4", 5)]);
    let of = async |filter| {
        let found = errors::list(&world.feeds, &key, load.task_id, &filter, None, 10).await.unwrap();
        found.into_iter().map(|found| found.external_id).collect::<Vec<_>>()
    };
    assert_eq!(of(Filter { level: Some(Level::Error), ..Filter::default() }).await, ["2", "3"]);
    assert_eq!(of(Filter { kind: Some(IssueType::Geo), ..Filter::default() }).await, ["4"]);
    let none = Filter { level: Some(Level::Error), kind: Some(IssueType::Geo), ..Filter::default() };
    assert_eq!(of(none).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn errors_come_in_pages_that_join() {
    let world = World::new().await;
    let key = seller();
    let file = (0..25).fold(String::new(), |text, n| {
        text + &goods(&[(&format!("{n:02}"), if n % 2 == 0 { "bad category" } else { "odd place" }, 1)])
    });
    let load = world.load(&key, &file).await;
    for filter in [
        Filter::default(),
        Filter { level: Some(Level::Error), ..Filter::default() },
        Filter { kind: Some(IssueType::Category), ..Filter::default() },
    ] {
        let whole = errors::list(&world.feeds, &key, load.task_id, &filter, None, 100).await.unwrap();
        let mut joined = Vec::new();
        loop {
            let after = joined.last().map(|found: &errors::Found| found.at.clone());
            let page =
                errors::list(&world.feeds, &key, load.task_id, &filter, after.as_ref(), 4).await.unwrap();
            if page.is_empty() {
                break;
            }
            joined.extend(page);
        }
        assert_eq!(joined, whole);
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_walks_a_long_list_part_by_part() {
    let world = World::with(Settings { batch_records: 10, ..Settings::default() }).await;
    let key = seller();
    // A hundred mistakes each: 25,000 rows, of which one question looks at 20,000.
    let line = |n: u32| {
        let title = if n % 125 == 7 { "Сто бед, ЁЛКА зелёная" } else { "Сто бед" };
        goods(&[(&format!("{n:03}"), title, 1)])
    };
    let load = world.load(&key, &(0..250).map(line).collect::<String>()).await;
    assert_eq!(load.statistics.warnings, 25_000);
    let searched = async |id: &str, title: &str, level| {
        let filter = Filter { level, id_begins: id.to_owned(), title_has: title.to_owned(), kind: None };
        let (mut pages, mut found, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = errors::page(&world.feeds, &key, load.task_id, &filter, after.as_ref(), 150).await;
            let page = page.unwrap();
            pages.push(page.found.len());
            found.extend(page.found.into_iter().map(|found| found.external_id));
            after = page.next;
            if after.is_none() {
                found.dedup();
                return (pages, found);
            }
        }
    };
    let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(searched("", "зеленая елка", None).await, (vec![150, 50], ids(&["007", "132"])));
    assert_eq!(searched("13", "ёлка", None).await, (vec![100], ids(&["132"])));
    assert_eq!(searched("00", "ёлка", Some(Level::Error)).await, (vec![0], Vec::new()));
    // Nothing found, and still not at the end.
    assert_eq!(searched("", "сосна", None).await, (vec![0, 0], Vec::new()));
    assert_eq!(searched("007", "", None).await, (vec![100], ids(&["007"])));
}

#[tokio::test(start_paused = true)]
async fn batches_are_cut_by_records_and_raw_bytes() {
    let settings = Settings { batch_records: 10, batch_bytes: 200, ..Settings::default() };
    let world = World::with(settings).await;
    let key = seller();
    let load = world.load(&key, &many(0..25)).await;
    // A record has about 45 bytes, so five of them end a batch.
    assert_eq!((load.task.records, load.task.batches), (25, 5));
    let progress = load.task.progress.unwrap();
    assert_eq!((progress.batches_sent, progress.batches_acknowledged, progress.offers), (5, 5, 25));
    assert_eq!(progress.bytes_read, progress.bytes_total);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_goes_and_what_stays_is_unchanged() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200), ("3", "Axe", 300)])).await;
    let load = world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 250), ("4", "Nail", 1)])).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((tally.unchanged, tally.updated, tally.created, tally.deleted), (1, 1, 1, 1));
    assert_eq!(world.offers.live(&key), ["1", "2", "4"]);
    assert_eq!(world.offers.state(&key, |state| state.same), 1, "what did not change was not unified again");
}

/// The outbox of the shard may have any number of messages before it.
#[tokio::test(start_paused = true)]
async fn a_terminal_message_is_never_overtaken_by_the_next_load() {
    let world = World::without_relay(Store::memory(schema()), Settings::default()).await;
    let key = seller();
    let first = world.upload(&key, &many(0..5)).await;
    let second = world.upload(&key, &many(3..5)).await;
    world.process().await;
    world.offers_become(&key, |state| state.batches == 2).await;
    world.start_relay();
    for (task_id, deleted) in [(first, 0), (second, 3)] {
        let load = world.ended(&key, task_id).await;
        assert_eq!(load.task.status(), TaskStatus::TaskSucceeded, "{:?}", load.task.error);
        assert_eq!(load.statistics.tally.unwrap().deleted, deleted);
    }
    assert_eq!(world.offers.live(&key), ["3", "4"]);
}

/// What a removal leaves to the seller is not taken by the first load of a new feed of the same name.
#[tokio::test(start_paused = true)]
async fn a_removal_is_never_overtaken_by_a_new_feed_of_its_name() {
    let world = World::without_relay(Store::memory(schema()), Settings::default()).await;
    let key = seller();
    world.upload(&key, &many(0..5)).await;
    world.process().await;
    let removal = feeds::feed::remove(&world.feeds, &key, OnMissing::MakeManual).await.unwrap();
    let new = world.upload(&key, &many(9..11)).await;
    world.process().await;
    world.offers_become(&key, |state| state.batches == 2).await;
    world.start_relay();
    for task_id in [removal, new] {
        let load = world.ended(&key, task_id).await;
        assert_eq!(load.task.status(), TaskStatus::TaskSucceeded, "{:?}", load.task.error);
    }
    assert_eq!(world.offers.live(&key), ["10", "9"]);
    assert_eq!(world.offers.state(&key, |state| state.manual.len()), 5);
}

#[tokio::test(start_paused = true)]
async fn a_broken_file_fails_with_its_place_and_takes_nothing_away() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..30)).await;
    let broken = "<?xml version=\"1.0\"?>\n<feed version=\"1\">\n<offers><offer id=\"1\"><title>x";
    let load = world.load(&key, broken).await;
    assert_eq!(load.task.status(), TaskStatus::TaskFailed);
    let error = load.task.error.unwrap();
    assert!(error.line > 0, "{error:?}");
    assert_eq!(world.offers.live(&key).len(), 30);
    // The next good one goes through.
    assert_eq!(world.load(&key, &many(0..30)).await.task.status(), TaskStatus::TaskSucceeded);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_would_take_too_much_away_waits_for_a_person() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..60)).await;
    let held = world.upload(&key, &many(0..5)).await;
    world.process().await;
    let load = world.held(&key, held).await;
    assert_eq!(load.task.held.unwrap().would_go, 55);
    assert_eq!(world.offers.live(&key).len(), 60);

    feeds::decide::decide(&world.feeds, &key, held, Word::Reject, "anna").await.unwrap();
    let load = world.ended(&key, held).await;
    assert_eq!((load.task.status(), world.offers.live(&key).len()), (TaskStatus::TaskRejected, 60));

    let held = world.upload(&key, &many(0..4)).await;
    world.process().await;
    world.held(&key, held).await;
    feeds::decide::decide(&world.feeds, &key, held, Word::Confirm, "anna").await.unwrap();
    let again = feeds::decide::decide(&world.feeds, &key, held, Word::Confirm, "anna").await;
    assert!(matches!(again, Err(feeds::Error::Conflict { name: "decided", .. })), "{again:?}");
    let load = world.ended(&key, held).await;
    assert_eq!((load.task.status(), load.statistics.tally.unwrap().deleted), (TaskStatus::TaskSucceeded, 56));
}

#[tokio::test(start_paused = true)]
async fn books_that_do_not_balance_are_not_called_a_success() {
    let world = World::new().await;
    let key = seller();
    world.offers.state(&key, |state| state.drop_results = true);
    let load = world.load(&key, &many(0..3)).await;
    assert_eq!(load.task.status(), TaskStatus::TaskPartial);
    let error = load.task.error.unwrap();
    assert_eq!(error.code, "ledger");
    assert!(error.message.contains("3 offers in 1 batches"), "{}", error.message);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_and_changes_nothing() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200)])).await;
    let upload = Upload { dry_run: true, ..Upload::default() };
    let text = goods(&[("1", "Drill", 150), ("3", "Axe", 5)]);
    let task_id = world.upload_as(&key, &text, upload).await.unwrap();
    world.process().await;
    let load = world.ended(&key, task_id).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((load.task.status(), tally.created, tally.updated), (TaskStatus::TaskSucceeded, 1, 1));
    assert_eq!(load.statistics.samples.len(), 1);
    assert_eq!(world.offers.live(&key), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_never_touch_each_other() {
    let world = World::new().await;
    let (one, two) = (seller(), FeedKey::new("shop", "second").unwrap());
    world.load(&one, &many(0..3)).await;
    world.load(&two, &many(10..12)).await;
    assert_eq!((world.offers.live(&one).len(), world.offers.live(&two).len()), (3, 2));
    let load = world.load(&two, &many(10..11)).await;
    assert_eq!((load.task_id, load.statistics.tally.unwrap().deleted), (2, 1));
    assert_eq!(world.offers.live(&one).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_look_over_all_feeds_comes_in_parts_that_join() {
    let world = World::new().await;
    let mut all = Vec::new();
    for (seller, namespace) in (0..12).flat_map(|n| [(n, "a"), (n, "b")]) {
        let key = FeedKey::new(&format!("seller-{seller}"), namespace).unwrap();
        let settings = feeds::feed::default_settings(&world.feeds);
        feeds::feed::put(&world.feeds, &key, settings).await.unwrap();
        all.push(key);
    }
    for most in [1, 5, 24, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let (part, next) = feeds::history::glance(&world.feeds, after.as_ref(), most).await.unwrap();
            assert!(!part.is_empty() && part.len() <= most);
            seen.extend(part.into_iter().map(|glance| glance.view.key));
            after = next;
            if after.is_none() {
                break;
            }
        }
        seen.sort_unstable_by(|a, b| (&a.seller, &a.namespace).cmp(&(&b.seller, &b.namespace)));
        all.sort_unstable_by(|a, b| (&a.seller, &a.namespace).cmp(&(&b.seller, &b.namespace)));
        assert_eq!(seen, all, "by {most}");
    }
}
