//! Whose load is next: nobody's loads hide another's, and a paused feed begins none.

use cluster::work::Work as _;
use feeds::config::Settings;
use feeds::feed::Pause;
use feeds::processor::{self, Loads, Sent};
use feeds::{FeedKey, Feeds};
use store::Shard;
use wire::feeds::TaskStatus;

use crate::world::{World, goods, many, seller};

/// Sellers of one shard.
fn neighbours(count: usize) -> Vec<FeedKey> {
    let names = (0..).map(|number| format!("seller-{number}"));
    let of_shard = names.filter(|name| Shard::of(name) == Shard::of("seller-0"));
    of_shard.take(count).map(|name| FeedKey::new(&name, "default").unwrap()).collect()
}

async fn due(world: &World, shard: Shard) -> Vec<(String, bool)> {
    let loads = Loads(world.feeds.clone());
    let due = loads.due(&[shard], world.feeds.clock.now()).await.unwrap();
    due.pieces.into_iter().map(|piece| (piece.owner, piece.long)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_sellers_many_loads_do_not_hide_the_one_of_another() {
    let world = World::with(Settings { uploads_per_hour: 1_000, ..Settings::default() }).await;
    let sellers = neighbours(2);
    for _ in 0..100 {
        world.upload(&sellers[0], &many(0..1)).await;
    }
    world.upload(&sellers[1], &many(0..1)).await;
    let due = due(&world, sellers[0].shard()).await;
    assert!(due.iter().any(|(owner, _)| *owner == sellers[1].seller), "{due:?}");
}

#[tokio::test(start_paused = true)]
async fn many_large_files_do_not_hide_the_small_one_for_which_a_slot_is_kept() {
    let world = World::with(Settings { small_file_bytes: 1_000, ..Settings::default() }).await;
    let sellers = neighbours(65);
    for large in &sellers[..64] {
        world.upload(large, &many(0..100)).await;
    }
    world.feeds.clock.advance(std::time::Duration::from_secs(1));
    world.upload(&sellers[64], &many(0..1)).await;
    let due = due(&world, sellers[0].shard()).await;
    assert!(due.contains(&(sellers[64].seller.clone(), false)), "{} of 65", due.len());
    assert!(due.iter().filter(|(_, long)| *long).count() >= 32);
}

async fn pause(feeds: &Feeds, key: &FeedKey, pause: Pause) {
    feeds::feed::set_paused(feeds, key, pause).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_feed_begins_no_load_and_goes_on_where_it_was() {
    let world = World::new().await;
    let (key, other) = (seller(), FeedKey::new("shop", "other").unwrap());
    let first = world.upload(&key, &many(0..3)).await;
    let second = world.upload(&key, &many(0..4)).await;
    let others = world.upload(&other, &many(0..2)).await;
    pause(&world.feeds, &key, Pause::Paused).await;
    world.process().await;
    world.ended(&other, others).await;
    for task_id in [first, second] {
        assert_eq!(world.task(&key, task_id).await.task.status(), TaskStatus::TaskQueued);
    }
    assert!(world.offers.live(&key).is_empty());
    assert!(due(&world, key.shard()).await.is_empty(), "a paused feed is nobody's work");

    pause(&world.feeds, &key, Pause::Running).await;
    world.process().await;
    for task_id in [first, second] {
        assert_eq!(world.ended(&key, task_id).await.task.status(), TaskStatus::TaskSucceeded);
    }
    assert_eq!(world.offers.live(&key).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_load_under_way_goes_on_when_its_feed_is_paused() {
    let world = World::new().await;
    let key = seller();
    let task_id = world.upload(&key, &many(0..3)).await;
    let taken = processor::take(&world.feeds, &key, task_id).await.unwrap().unwrap();
    pause(&world.feeds, &key, Pause::Paused).await;
    // Its process goes away for a moment: the next try is of a load that has begun.
    processor::put_off(&world.feeds, &taken, wire::feeds::TaskError::default()).await.unwrap();
    world.feeds.clock.advance(std::time::Duration::from_secs(3_600));
    world.process().await;
    assert_eq!(world.ended(&key, task_id).await.task.status(), TaskStatus::TaskSucceeded);
}

/// The waiting load comes after the file whose content is needed, so it brings that content itself.
#[tokio::test(start_paused = true)]
async fn content_that_is_needed_comes_with_the_load_that_waits() {
    let world = World::new().await;
    let key = seller();
    let text = goods(&[("1", "Drill", 100), ("2", "Saw", 200)]);
    world.load(&key, &text).await;
    world.offers.state(&key, |state| state.live.remove("2"));
    let needs = world.upload(&key, &text).await;
    let waits = world.upload(&key, &text).await;
    let taken = processor::take(&world.feeds, &key, needs).await.unwrap().unwrap();
    let sent = processor::send(&world.feeds, &taken).await.unwrap();
    let Sent::Whole(whole) = sent else { panic!("a good file is sent whole") };
    processor::finish(&world.feeds, &taken, whole).await.unwrap();
    assert_eq!(world.ended(&key, needs).await.statistics.content_needed, 1);
    world.process().await;
    let tally = world.ended(&key, waits).await.statistics.tally.unwrap();
    assert_eq!((tally.created, tally.unchanged), (1, 1));
    world.settle().await;
    let loads = feeds::history::loads(&world.feeds, &key, None, 10).await.unwrap();
    assert_eq!(loads[0].task_id, waits, "nothing follows");
}
