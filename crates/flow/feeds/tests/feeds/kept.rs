//! How much of a feed's history is kept, and that the rest goes, however much it is.

use std::time::Duration;

use feeds::FeedKey;
use feeds::cleanup::OldLoads;
use feeds::config::Settings;
use feeds::loader::{self, Fetched};
use feeds::tables::{FEED, OLD_TASKS, TASKS};
use store::{Range, Read as _, Shard, Tx};
use wire::feeds::{FeedSettings, OnMissing, Task, TaskError, TaskSource, TaskStatus};

use crate::world::{World, many, seller};

/// Numbers of the feed's loads, oldest first.
async fn numbers(world: &World, key: &FeedKey) -> Vec<i64> {
    let snapshot = world.feeds.store.snapshot(key.shard()).await.unwrap();
    let rows = snapshot.scan(&TASKS, Range::prefix(key.row(), usize::MAX).unwrap()).await.unwrap();
    rows.into_iter().map(|((.., task_id), _)| task_id).collect()
}

async fn forget(world: &World, key: &FeedKey) {
    world.run_due(&OldLoads(world.feeds.clone())).await;
    let old = world.feeds.store.scan_shards(&OLD_TASKS, &[key.shard()], Range::all(1)).await.unwrap();
    assert!(old.is_empty());
}

/// Loads that ended and that nobody looked at since.
async fn add_loads(world: &World, key: &FeedKey, count: i64) {
    let add = async |tx: &mut Tx| {
        let mut feed = tx.get(&FEED, key.row()).await?.unwrap();
        for _ in 0..count {
            feed.last_task_id += 1;
            let task = Task { status: TaskStatus::TaskFailed.into(), begun: true, ..Task::default() };
            tx.put(&TASKS, key.task(feed.last_task_id), &task)?;
        }
        tx.put(&FEED, key.row(), &feed)
    };
    world.feeds.store.transact(key.shard(), add).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fetches_that_fail_in_turns_do_not_fill_the_history() {
    let world = World::with(Settings { keep_tasks: 3, ..Settings::default() }).await;
    let key = seller();
    let url = "http://127.0.0.1:9/feed.xml".to_owned();
    let settings = FeedSettings { url, ..feeds::feed::default_settings(&world.feeds) };
    feeds::feed::put(&world.feeds, &key, settings).await.unwrap();
    for number in 0..60 {
        feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
        let taken = loader::take(&world.feeds, &key).await.unwrap().unwrap();
        let code = if number % 2 == 0 { "fetch_timeout" } else { "fetch_bad_status" };
        let error = TaskError { code: code.to_owned(), ..TaskError::default() };
        assert!(loader::settle(&world.feeds, &taken, &Fetched::Failed(error)).await.unwrap());
        world.feeds.clock.advance(Duration::from_secs(60));
    }
    forget(&world, &key).await;
    let kept = numbers(&world, &key).await;
    assert_eq!((kept.len(), kept.last()), (15, Some(&60)), "the newest: {kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_history_is_forgotten_to_its_beginning() {
    let world = World::with(Settings { keep_tasks: 3, ..Settings::default() }).await;
    let key = seller();
    let good = world.load(&key, &many(0..1)).await.task_id;
    add_loads(&world, &key, 900).await;
    let last = world.load(&key, "<feed version=\"1\"><offers><offer").await.task_id;
    forget(&world, &key).await;
    assert_eq!(numbers(&world, &key).await, [good, last - 2, last - 1, last]);
}

#[tokio::test(start_paused = true)]
async fn a_removal_ends_every_load_however_many_there_are() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..2)).await;
    add_loads(&world, &key, 1_500).await;
    let queued = world.upload(&key, &many(0..5)).await;
    let removal = feeds::feed::remove(&world.feeds, &key, OnMissing::Delete).await.unwrap();
    assert_eq!(world.task(&key, queued).await.task.status(), TaskStatus::TaskCancelled);
    world.process().await;
    world.ended(&key, removal).await;
    forget(&world, &key).await;
    assert_eq!(numbers(&world, &key).await, [removal]);
    assert!(world.offers.live(&key).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_file_stays_while_any_load_has_it() {
    let world = World::with(Settings { keep_tasks: 3, ..Settings::default() }).await;
    let key = seller();
    let first = world.load(&key, &many(0..2)).await.task_id;
    add_loads(&world, &key, 1_200).await;
    let again = feeds::follow_up::rerun(&world.feeds, &key, first).await.unwrap();
    feeds::cleanup::step(&world.feeds, &key, first).await.unwrap();
    world.settle().await;
    world.feeds.clock.advance(Duration::from_secs(2 * 86_400));
    world.feeds.files.delete_due(&Shard::all().collect::<Vec<_>>()).await.unwrap();
    world.process().await;
    let load = world.ended(&key, again).await;
    assert_eq!(
        (load.task.source(), load.task.status()),
        (TaskSource::SourceRerun, TaskStatus::TaskSucceeded)
    );
}
