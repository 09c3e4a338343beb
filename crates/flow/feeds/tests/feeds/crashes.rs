//! A process dies between any two steps: another one goes on, and nothing is lost or counted twice.

use std::time::Duration;

use cluster::work::{KILLED_ITS_WORKER, Work as _};
use feeds::processor::{self, Loads, Sent};
use files::{Answer, Limits, Referrer};
use model::Language;
use store::{Range, Shard};
use wire::feeds::TaskStatus;

use crate::world::{World, many, seller};

/// A dead process's lock is taken over when it is old enough; here, at once.
fn lock_is_old(world: &World) {
    world.feeds.clock.advance(Duration::from_secs(13 * 3_600));
}

#[tokio::test(start_paused = true)]
async fn death_after_taking() {
    let world = World::new().await;
    let key = seller();
    let task_id = world.upload(&key, &many(0..250)).await;
    let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
    let second = processor::take(&world.feeds, &key, task_id).await.unwrap();
    assert!(second.is_none(), "one at a time");
    lock_is_old(&world);
    world.process().await;
    let load = world.ended(&key, task_id).await;
    assert_eq!(load.task.status(), TaskStatus::TaskSucceeded);
    // The first one comes back: it changes nothing.
    let Sent::Whole(whole) = processor::send(&world.feeds, &taken).await.unwrap() else { panic!() };
    assert!(processor::finish(&world.feeds, &taken, whole).await.is_err());
    world.settle().await;
    assert_eq!(world.task(&key, task_id).await.statistics, load.statistics);
    assert_eq!(world.offers.state(&key, |state| (state.batches, state.repeats)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn death_after_sending() {
    let world = World::new().await;
    let key = seller();
    let task_id = world.upload(&key, &many(0..250)).await;
    let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
    let Sent::Whole(_) = processor::send(&world.feeds, &taken).await.unwrap() else { panic!() };
    world.settle().await;
    assert_eq!(world.task(&key, task_id).await.task.status(), TaskStatus::TaskInProgress);
    lock_is_old(&world);
    world.process().await;
    let load = world.ended(&key, task_id).await;
    let tally = load.statistics.tally.unwrap();
    assert_eq!((load.task.status(), tally.created), (TaskStatus::TaskSucceeded, 250));
    assert_eq!(world.offers.state(&key, |state| (state.batches, state.repeats)), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn death_before_and_after_the_terminal_message() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..10)).await;
    for (last, is_told) in [(4, false), (3, true)] {
        let task_id = world.upload(&key, &many(0..last)).await;
        let behind = world.upload(&key, &many(0..last)).await;
        let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
        let Sent::Whole(whole) = processor::send(&world.feeds, &taken).await.unwrap() else { panic!() };
        let sealed = processor::seal(&world.feeds, &taken, whole).await.unwrap().unwrap();
        if is_told {
            processor::tell_end(&world.feeds, &taken, &sealed).await.unwrap();
        }
        world.settle().await;
        let late = feeds::decide::cancel(&world.feeds, &key, task_id).await;
        assert!(late.is_err(), "it cannot be called back: {late:?}");
        let next = processor::take(&world.feeds, &key, behind).await.unwrap();
        assert!(next.is_none(), "the next load waits for the end of this one");
        let sent = world.offers.state(&key, |state| (state.batches, state.repeats));
        lock_is_old(&world);
        world.process().await;
        let load = world.ended(&key, task_id).await;
        assert_eq!(load.task.status(), TaskStatus::TaskSucceeded, "{:?}", load.task.error);
        assert_eq!(world.ended(&key, behind).await.task.status(), TaskStatus::TaskSucceeded);
        assert_eq!(world.offers.live(&key).len(), last);
        let (batches, repeats) = world.offers.state(&key, |state| (state.batches, state.repeats));
        assert_eq!((batches - sent.0, repeats - sent.1), (1, 0), "only the end was told again");
    }
}

#[tokio::test(start_paused = true)]
async fn death_of_an_upload_before_its_load_is_made() {
    let world = World::new().await;
    let key = seller();
    let referrer = Referrer::new(format!("feeds:{}/{}/{}", "abc", key.namespace, key.seller)).unwrap();
    let bytes = bytes::Bytes::from_static(b"orphan");
    let stream = futures::stream::iter([Ok::<_, std::io::Error>(bytes)]);
    let incoming = world.feeds.files.receive(stream, Limits::up_to(100)).await.unwrap();
    world.feeds.files.put(incoming, &referrer).await.unwrap();
    assert_eq!(feeds::upload::file_is_used(&world.feeds, &referrer).await, Answer::Gone);
    // One whose load was made answers for its file.
    let task_id = world.upload(&key, &many(0..1)).await;
    let file = world.task(&key, task_id).await.task.file.unwrap();
    let held = Referrer::new(file.referrer).unwrap();
    assert_eq!(feeds::upload::file_is_used(&world.feeds, &held).await, Answer::Held);
}

#[tokio::test(start_paused = true)]
async fn death_between_any_two_steps_of_forgetting() {
    let world = World::new().await;
    let key = seller();
    let file = (0..1_200)
        .fold(String::new(), |text, n| text + &crate::world::goods(&[(&format!("{n}"), "bad category", 1)]));
    let load = world.load(&key, &file).await;
    assert_eq!(load.statistics.errors, 1_200);
    feeds::feed::remove(&world.feeds, &key, wire::feeds::OnMissing::Delete).await.unwrap();
    let mut steps = 0;
    // Each turn is a process that does one step and dies.
    while feeds::cleanup::step(&world.feeds, &key, load.task_id).await.unwrap() {
        steps += 1;
        let left = feeds::history::load(&world.feeds, &key, load.task_id).await;
        assert!(left.is_ok(), "the row goes last");
    }
    assert!(steps >= 2, "{steps}");
    let shards = [Shard::of(&key.seller)];
    let store = &world.feeds.store;
    let errors = store.scan_shards(&feeds::tables::OFFER_ERRORS, &shards, Range::all(10)).await.unwrap();
    let by_level =
        store.scan_shards(&feeds::tables::OFFER_ERRORS_BY_LEVEL, &shards, Range::all(10)).await.unwrap();
    let by_type =
        store.scan_shards(&feeds::tables::OFFER_ERRORS_BY_TYPE, &shards, Range::all(10)).await.unwrap();
    assert_eq!((errors.len(), by_level.len(), by_type.len()), (0, 0, 0));
}

/// What the loop does with a load whose file has ended its process too often.
async fn give_up(world: &World, task_id: i64) {
    let loads = Loads(world.feeds.clone());
    assert!(loads.plan().max_tries.is_some(), "its tries are counted");
    let key = seller();
    loads.give_up(key.shard(), &(key.clone(), task_id), KILLED_ITS_WORKER).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_file_that_keeps_killing_its_process_fails_and_takes_nothing_away() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..30)).await;
    let task_id = world.upload(&key, &many(0..3)).await;
    let behind = world.upload(&key, &many(0..31)).await;
    let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
    let Sent::Whole(whole) = processor::send(&world.feeds, &taken).await.unwrap() else { panic!() };
    lock_is_old(&world);
    give_up(&world, task_id).await;

    let load = world.task(&key, task_id).await;
    let error = load.task.error.clone().unwrap();
    assert_eq!((load.task.status(), error.code.as_str()), (TaskStatus::TaskFailed, "killed_its_worker"));
    let sentence = feeds::history::sentence(&error, Language::English);
    assert_eq!(sentence, "the file kept killing its worker");
    world.settle().await;
    assert_eq!(world.offers.live(&key).len(), 30, "its batches are called back");
    // The process was only thought dead.
    assert!(processor::finish(&world.feeds, &taken, whole).await.is_err());
    world.process().await;
    assert_eq!(world.ended(&key, behind).await.task.status(), TaskStatus::TaskSucceeded);
    assert_eq!(world.offers.live(&key).len(), 31, "the next load has its turn");
    assert_eq!(world.task(&key, task_id).await.task.status(), TaskStatus::TaskFailed);
}

/// Nobody reads the file of a load that is with the offers already, so it is not the file that ends the process.
#[tokio::test(start_paused = true)]
async fn a_load_that_is_with_the_offers_is_ended_and_not_given_up() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, &many(0..30)).await;
    let task_id = world.upload(&key, &many(0..28)).await;
    let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
    let Sent::Whole(whole) = processor::send(&world.feeds, &taken).await.unwrap() else { panic!() };
    processor::seal(&world.feeds, &taken, whole).await.unwrap().unwrap();
    lock_is_old(&world);
    give_up(&world, task_id).await;
    let load = world.ended(&key, task_id).await;
    let deleted = load.statistics.tally.unwrap().deleted;
    assert_eq!((load.task.status(), deleted), (TaskStatus::TaskSucceeded, 2), "{:?}", load.task.error);
    assert_eq!(world.offers.live(&key).len(), 28);
}
