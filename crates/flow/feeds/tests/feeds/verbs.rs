//! What people can do with feeds and loads, and what is forgotten.

use std::time::Duration;

use feeds::cleanup::OldLoads;
use feeds::config::Settings;
use feeds::erase::Erasures;
use feeds::feed::Pause;
use feeds::tables::{FEED_CATEGORIES, FEED_DUE, WEBHOOKS};
use feeds::timers::Timers;
use feeds::upload::Upload;
use feeds::{Error, FeedKey};
use store::{Range, Shard, Tx};
use wire::feeds::{FeedCategory, FeedSettings, OnMissing, TaskSource, TaskStatus};

use crate::world::{World, goods, many, seller};

fn is_conflict<T>(result: &feeds::Result<T>, expected: &str) -> bool {
    matches!(result, Err(Error::Conflict { name, .. }) if *name == expected)
}

#[tokio::test(start_paused = true)]
async fn an_earlier_load_can_be_loaded_again() {
    let world = World::new().await;
    let key = seller();
    let good = world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200)])).await;
    world.load(&key, &goods(&[("1", "Drill", 999)])).await;
    let again = feeds::follow_up::rerun(&world.feeds, &key, good.task_id).await.unwrap();
    world.process().await;
    let load = world.ended(&key, again).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((load.task.source(), tally.created, tally.updated), (TaskSource::SourceRerun, 1, 1));
    assert_eq!(world.offers.live(&key), ["1", "2"]);
    let none = feeds::follow_up::rerun(&world.feeds, &key, 77).await;
    assert!(matches!(none, Err(Error::NoTask { .. })), "{none:?}");
}

#[tokio::test(start_paused = true)]
async fn a_load_is_cancelled_until_its_terminal_message() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..3)).await;
    let queued = world.upload(&key, &many(0..1)).await;
    feeds::decide::cancel(&world.feeds, &key, queued).await.unwrap();
    world.process().await;
    assert_eq!(world.task(&key, queued).await.task.status(), TaskStatus::TaskCancelled);
    assert_eq!(world.offers.live(&key).len(), 3);
    assert!(is_conflict(&feeds::decide::cancel(&world.feeds, &key, queued).await, "ended"));

    let begun = world.upload(&key, &many(0..2)).await;
    let taken = feeds::processor::take(&world.feeds, &key, begun).await.unwrap().unwrap();
    feeds::decide::cancel(&world.feeds, &key, begun).await.unwrap();
    // The processor does not know yet: what it sends is stale, and its end changes nothing.
    let feeds::processor::Sent::Whole(whole) = feeds::processor::send(&world.feeds, &taken).await.unwrap()
    else {
        panic!("a small file is sent before anybody looks");
    };
    feeds::processor::finish(&world.feeds, &taken, whole).await.unwrap();
    world.settle().await;
    let load = world.task(&key, begun).await;
    assert_eq!((load.task.status(), load.task.terminal_pending), (TaskStatus::TaskCancelled, false));
    assert_eq!(world.offers.live(&key).len(), 3);

    let sent = world.upload(&key, &many(0..3)).await;
    let taken = feeds::processor::take(&world.feeds, &key, sent).await.unwrap().unwrap();
    let feeds::processor::Sent::Whole(whole) = feeds::processor::send(&world.feeds, &taken).await.unwrap()
    else {
        panic!("a good file is sent whole");
    };
    feeds::processor::finish(&world.feeds, &taken, whole).await.unwrap();
    let late = feeds::decide::cancel(&world.feeds, &key, sent).await;
    assert!(
        is_conflict(&late, "too_late")
            || world.ended(&key, sent).await.task.status() == TaskStatus::TaskSucceeded
    );
}

#[tokio::test(start_paused = true)]
async fn a_removed_feed_takes_its_offers_along_or_leaves_them_as_manual() {
    for (choice, manual) in [(OnMissing::Delete, 0), (OnMissing::MakeManual, 30)] {
        let world = World::new().await;
        let key = seller();
        let first = world.load(&key, &many(0..30)).await.task_id;
        let removal = feeds::feed::remove(&world.feeds, &key, choice).await.unwrap();
        world.process().await;
        let load = world.ended(&key, removal).await;
        assert_eq!(load.task.status(), TaskStatus::TaskSucceeded, "{:?}", load.task.error);
        assert!(world.offers.live(&key).is_empty());
        assert_eq!(world.offers.state(&key, |state| state.manual.len()), manual);
        world.run_due(&OldLoads(world.feeds.clone())).await;
        let gone = feeds::history::load(&world.feeds, &key, first).await;
        assert!(matches!(gone, Err(Error::NoTask { .. })));
        assert!(matches!(feeds::history::feed(&world.feeds, &key).await, Err(Error::NoFeed(_))));
        // All files are let go once the releases have travelled.
        world.settle().await;
        world.feeds.clock.advance(Duration::from_secs(2 * 86_400));
        world.feeds.files.delete_due(&Shard::all().collect::<Vec<_>>()).await.unwrap();
        assert_eq!(world.objects.names().len(), 0);
        // A new feed of the name goes on counting.
        assert_eq!(world.load(&key, &many(0..2)).await.task_id, removal + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_an_erased_seller_stays_but_the_number_of_his_loads() {
    let world = World::new().await;
    let (key, fetched) = (seller(), FeedKey::new("shop", "fetched").unwrap());
    let neighbour = FeedKey::new("other", "default").unwrap();
    world.load(&neighbour, &many(0..3)).await;
    let ended = world.load(&key, &(many(0..5) + "<broken")).await.task_id;
    let url = FeedSettings {
        url: "http://127.0.0.1:9/feed.xml".to_owned(),
        ..feeds::feed::default_settings(&world.feeds)
    };
    feeds::feed::put(&world.feeds, &fetched, url).await.unwrap();
    let waiting = world.upload(&key, &many(0..9)).await;
    let decided = async |tx: &mut Tx| {
        let (seller, namespace) = key.row();
        tx.put(&FEED_CATEGORIES, (seller, namespace, "Shop > Saws"), &FeedCategory::default())?;
        Ok::<_, Error>(())
    };
    world.feeds.store.transact(key.shard(), decided).await.unwrap();
    hear_erasures(&world);
    erase(&world, 1).await;
    erase(&world, 1).await;
    let categories =
        world.feeds.store.scan_shards(&FEED_CATEGORIES, &[key.shard()], Range::all(10)).await.unwrap();
    assert!(categories.is_empty(), "{categories:?}");
    world.run_due(&OldLoads(world.feeds.clone())).await;
    world.process().await;
    for task_id in [ended, waiting] {
        let gone = feeds::history::load(&world.feeds, &key, task_id).await;
        assert!(matches!(gone, Err(Error::NoTask { .. })), "{gone:?}");
    }
    for key in [&key, &fetched] {
        assert!(matches!(feeds::history::feed(&world.feeds, key).await, Err(Error::NoFeed(_))));
    }
    let due = world.feeds.store.scan_shards(&FEED_DUE, &[key.shard()], Range::all(10)).await.unwrap();
    assert!(due.is_empty(), "{due:?}");
    world.settle().await;
    world.feeds.clock.advance(Duration::from_secs(2 * 86_400));
    world.feeds.files.delete_due(&Shard::all().collect::<Vec<_>>()).await.unwrap();
    // The neighbour's file and fingerprints.
    assert_eq!(world.objects.names().len(), 2);
    assert_eq!(world.load(&key, &many(0..2)).await.task_id, waiting + 1);
}

/// The consumer of erasures.
fn hear_erasures(world: &World) {
    let (topic, group) = (model::topics::OFFERS_ERASURES, feeds::results::GROUP);
    let erasures = Erasures(world.feeds.clone());
    topics::consume::start(&world.tasks, &world.feeds.topics, topic, group, erasures);
}

/// The word that «shop» is erased, and what follows from it.
async fn erase(world: &World, asked_at: i64) {
    let word = topics::Message::new("shop", model::erasure::write("shop", asked_at));
    world.feeds.topics.publish(model::topics::OFFERS_ERASURES, vec![word]).await.unwrap();
    world.settle().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_to_be_told_of_an_erased_seller_is_not_told() {
    let world = World::new().await;
    let of_shard = |name: &String| Shard::of(name) == seller().shard();
    let neighbour = (0..100_000).map(|number| format!("shop-{number}")).find(of_shard).unwrap();
    let neighbour = FeedKey::new(&neighbour, "default").unwrap();
    for key in [&seller(), &neighbour] {
        let settings = FeedSettings {
            webhook_url: "http://127.0.0.1:9/hook".to_owned(),
            ..feeds::feed::default_settings(&world.feeds)
        };
        feeds::feed::put(&world.feeds, key, settings).await.unwrap();
        for _ in 0..3 {
            let failed = world.load(key, "<feed version=\"1\"><offers><offer").await;
            assert_eq!(failed.task.status(), TaskStatus::TaskFailed);
        }
    }
    let waiting = async || -> Vec<String> {
        let shards = [seller().shard()];
        let rows = world.feeds.store.scan_shards(&WEBHOOKS, &shards, Range::all(10)).await.unwrap();
        rows.into_iter().map(|(_, (_, seller, ..), _)| seller).collect()
    };
    assert_eq!(waiting().await.len(), 6);
    hear_erasures(&world);
    erase(&world, 1).await;
    assert_eq!(waiting().await, vec![neighbour.seller.as_str(); 3]);
}

/// The offers must be able to tell his loads from those of before, and a word that comes again is not a new wish.
#[tokio::test(start_paused = true)]
async fn an_erased_seller_may_come_back() {
    let world = World::new().await;
    let key = seller();
    hear_erasures(&world);
    assert_eq!(world.load(&key, &many(0..2)).await.task.after_erasure, 0);
    erase(&world, 5).await;
    let (other, removed) = (FeedKey::new("shop", "other").unwrap(), FeedKey::new("shop", "removed").unwrap());
    for key in [&key, &other, &removed] {
        assert_eq!(world.load(key, &many(0..2)).await.task.after_erasure, 5, "{key:?}");
    }
    let removal = feeds::feed::remove(&world.feeds, &removed, OnMissing::Delete).await.unwrap();
    world.process().await;
    assert_eq!(world.ended(&removed, removal).await.task.after_erasure, 5);
    let told = |key| world.offers.state(key, |state| Vec::from_iter(state.erasures.clone()));
    assert_eq!((told(&key), told(&removed)), (vec![0, 5], vec![5]), "every message says it");

    erase(&world, 5).await;
    erase(&world, 4).await;
    assert!(feeds::history::feed(&world.feeds, &key).await.is_ok(), "he came back, and the word is old");
    erase(&world, 6).await;
    assert!(matches!(feeds::history::feed(&world.feeds, &key).await, Err(Error::NoFeed(_))));
}

#[tokio::test(start_paused = true)]
async fn old_loads_are_forgotten_and_the_last_good_one_stays() {
    let world = World::with(Settings { keep_tasks: 3, ..Settings::default() }).await;
    let key = seller();
    let good = world.load(&key, &many(0..5)).await.task_id;
    for _ in 0..5 {
        let failed = world.load(&key, "<feed version=\"1\"><offers><offer").await;
        assert_eq!(failed.task.status(), TaskStatus::TaskFailed);
    }
    world.run_due(&OldLoads(world.feeds.clone())).await;
    let loads = feeds::history::loads(&world.feeds, &key, None, 100).await.unwrap();
    let ids: Vec<_> = loads.iter().map(|load| load.task_id).collect();
    assert_eq!(ids, [6, 5, 4, good]);
    let rows = world
        .feeds
        .store
        .scan_shards(&feeds::tables::OLD_TASKS, &[key.shard()], Range::all(10))
        .await
        .unwrap();
    assert!(rows.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_feed_with_a_url_takes_no_uploads_and_a_paused_one_nothing() {
    let world = World::new().await;
    let key = seller();
    let url = FeedSettings {
        url: "http://127.0.0.1:9/feed.xml".to_owned(),
        ..feeds::feed::default_settings(&world.feeds)
    };
    feeds::feed::put(&world.feeds, &key, url).await.unwrap();
    let refused = world.upload_as(&key, "x", Upload::default()).await;
    assert!(is_conflict(&refused, "fetched_by_url"));

    let other = FeedKey::new("shop", "other").unwrap();
    world.load(&other, &many(0..1)).await;
    feeds::feed::set_paused(&world.feeds, &other, Pause::Paused).await.unwrap();
    assert!(is_conflict(&world.upload_as(&other, "x", Upload::default()).await, "paused"));
    feeds::feed::set_paused(&world.feeds, &other, Pause::Running).await.unwrap();
    assert_eq!(world.load(&other, &many(0..1)).await.task.status(), TaskStatus::TaskSucceeded);
}

#[tokio::test(start_paused = true)]
async fn quotas_name_themselves() {
    let settings = Settings { uploads_per_hour: 2, max_namespaces: 2, ..Settings::default() };
    let world = World::with(settings).await;
    let key = seller();
    world.upload(&key, &many(0..1)).await;
    world.upload(&FeedKey::new("shop", "two").unwrap(), &many(0..1)).await;
    let third = world.upload_as(&key, &many(0..1), Upload::default()).await;
    assert!(matches!(third, Err(Error::Quota { name: "quota_uploads", .. })), "{third:?}");
    world.feeds.clock.advance(Duration::from_secs(3_600));
    let more = world.upload_as(&FeedKey::new("shop", "three").unwrap(), &many(0..1), Upload::default()).await;
    assert!(matches!(more, Err(Error::Quota { name: "quota_namespaces", .. })), "{more:?}");
    // Nobody else pays for it.
    world.upload(&FeedKey::new("another", "default").unwrap(), &many(0..1)).await;
}

/// Bytes are charged before they are stored, however they come, and what was not stored leaves nothing.
#[tokio::test(start_paused = true)]
async fn an_upload_is_charged_before_it_is_stored_and_released_when_it_fails() {
    let settings = Settings { upload_bytes_per_hour: 64 << 20, max_namespaces: 1, ..Settings::default() };
    let world = World::with(settings).await;
    let refs = async || {
        let all: Vec<_> = store::Shard::all().collect();
        world
            .feeds
            .store
            .scan_shards(&files::tables::FILE_REFS, &all, store::Range::all(10))
            .await
            .unwrap()
            .len()
    };
    let chunks = |count: usize| {
        let chunk = bytes::Bytes::from(vec![b' '; 1 << 20]);
        futures::stream::iter((0..count).map(move |_| Ok::<_, std::io::Error>(chunk.clone())))
    };
    let quota = |made: feeds::Result<i64>| match made {
        Err(Error::Quota { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    // Announced: refused before a byte is read.
    let announced = Upload { expected_bytes: Some(65 << 20), ..Upload::default() };
    let unread = futures::stream::pending::<std::io::Result<bytes::Bytes>>();
    let made = feeds::upload::upload(&world.feeds, &seller(), unread, announced).await;
    assert_eq!(quota(made), "quota_bytes");
    // Not announced: refused when the quota ends, and nothing is stored.
    let made = feeds::upload::upload(&world.feeds, &seller(), chunks(70), Upload::default()).await;
    assert_eq!((quota(made), refs().await), ("quota_bytes", 0));
    // What came was used up, and another hour brings it back. A small file gives back what it did not need.
    let made = world.upload_as(&seller(), &many(0..1), Upload::default()).await;
    assert_eq!(quota(made), "quota_bytes");
    world.feeds.clock.advance(Duration::from_secs(3_600));
    for _ in 0..3 {
        world.upload(&seller(), &many(0..1)).await;
    }
    // A load that cannot be made lets go of the file that was stored for it.
    let before = refs().await;
    let made = world.upload_as(&FeedKey::new("shop", "two").unwrap(), &many(0..2), Upload::default()).await;
    assert_eq!((quota(made), refs().await), ("quota_namespaces", before));
}

#[tokio::test(start_paused = true)]
async fn content_that_the_offers_do_not_know_travels_once_more() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200)])).await;
    // The offers lost one, as after a deletion by hand.
    world.offers.state(&key, |state| state.live.remove("2"));
    let load = world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200)])).await;
    assert_eq!(load.statistics.tally.unwrap().skipped, 1);
    world.process().await;
    let follow_up = world.ended(&key, load.task_id + 1).await;
    assert_eq!(follow_up.task.source(), TaskSource::SourceFollowUp);
    let tally = follow_up.statistics.tally.unwrap();
    assert_eq!((tally.created, tally.unchanged), (1, 1));
    assert_eq!(world.offers.live(&key), ["1", "2"]);
}

/// Records that the offers do not know as they were make a load be repeated with all content; a dry run must not be one.
#[tokio::test(start_paused = true)]
async fn a_dry_run_foretells_exactly_and_never_starts_a_real_load() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &goods(&[("1", "Drill", 100), ("2", "Saw", 200), ("3", "Axe", 300)])).await;
    world.offers.state(&key, |state| state.live.remove("2"));
    let dry = Upload { dry_run: true, ..Upload::default() };
    let text = goods(&[("1", "Drill", 100), ("2", "Saw", 200)]);
    let dry = world.upload_as(&key, &text, dry).await.unwrap();
    world.process().await;
    let load = world.ended(&key, dry).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((tally.created, tally.unchanged, tally.skipped), (1, 1, 0));
    world.settle().await;
    world.process().await;
    world.settle().await;
    let loads = feeds::history::loads(&world.feeds, &key, None, 10).await.unwrap();
    assert_eq!(loads.first().map(|load| load.task_id), Some(dry), "nothing follows");
    assert_eq!(world.offers.live(&key), ["1", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_load_without_results_is_partial_after_a_day_and_a_dry_run_is_forgotten() {
    let world = World::new().await;
    let key = seller();
    let dry = Upload { dry_run: true, ..Upload::default() };
    let dry = world.upload_as(&key, &many(0..1), dry).await.unwrap();
    world.process().await;
    world.ended(&key, dry).await;

    let lost = world.upload(&key, &many(0..1)).await;
    let taken = feeds::processor::take(&world.feeds, &key, lost).await.unwrap().unwrap();
    world.tasks.end(Duration::from_secs(5)).await;
    let feeds::processor::Sent::Whole(whole) = feeds::processor::send(&world.feeds, &taken).await.unwrap()
    else {
        panic!("a good file is sent whole");
    };
    feeds::processor::finish(&world.feeds, &taken, whole).await.unwrap();
    world.feeds.clock.advance(Duration::from_secs(25 * 3_600));
    assert_eq!(world.run_due(&Timers(world.feeds.clone())).await, 2);
    let load = world.task(&key, lost).await;
    assert_eq!(
        (load.task.status(), load.task.error.unwrap().code.as_str()),
        (TaskStatus::TaskPartial, "no_results")
    );
    world.run_due(&OldLoads(world.feeds.clone())).await;
    assert!(matches!(feeds::history::load(&world.feeds, &key, dry).await, Err(Error::NoTask { .. })));
}
