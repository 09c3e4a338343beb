//! What arrives when nobody expects it any more.

use std::time::Duration;

use files::objects::Objects as _;
use files::{Answer, Body, Hash, Kind, ObjectName};

use super::kill::{Kill, When};
use super::{CONTENT, DAY, referrer};
use crate::owner::World;

const HOUR: Duration = Duration::from_secs(3_600);

/// A writer that slept through its own deadline and the sweep finds its claim gone, and clears away what it wrote.
#[tokio::test]
async fn a_write_that_comes_after_the_sweep_is_cleared_away() {
    let world = World::new();
    let kill = Kill::at(1, When::Before);
    let slow = kill.clone();
    let (process, who) = (world.doomed(&kill), referrer("slow"));
    let put = tokio::spawn({
        let (process, who) = (process.clone(), who.clone());
        async move { process.put(CONTENT, &who).await }
    });
    slow.killed().await;
    world.clock.advance(DAY);
    world.sweep(&world.sound()).await.unwrap();
    world.check_settled(CONTENT, "while the writer sleeps").await;
    slow.wake();
    let error = put.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    world.check_always(CONTENT, "after the late write").await;
    world.sweep(&world.sound()).await.unwrap();
    world.check_settled(CONTENT, "after the late write and a sweep").await;
}

/// Two writers were killed with their requests on the way, the second an hour after the first. A third was quicker
/// than both and has let go already: its deletion waits for them.
#[tokio::test]
async fn a_deletion_waits_for_writes_on_their_way() {
    let (world, who) = (World::new(), referrer("a"));
    let shard = Hash::of(CONTENT).shard();
    for _ in 0..2 {
        let kill = Kill::at(1, When::Before);
        assert!(kill.run(world.doomed(&kill).put(CONTENT, &who)).await.is_none());
        world.clock.advance(HOUR);
    }
    let sound = world.sound();
    let hash = sound.put(CONTENT, &who).await.unwrap();
    sound.own(&who, &hash).await.unwrap();
    sound.files.confirm(&hash, &who).await.unwrap();
    sound.disown(&who, &hash).await.unwrap();
    sound.deliver(|| false).await.unwrap();
    assert_eq!(sound.files.delete_due(&[shard]).await.unwrap().deleted, 0);
    let names = world.objects.names();
    assert_eq!(names, [ObjectName { hash, generation: 1 }], "all three wrote the same object");
    world.objects.delete(&names[0]).await.unwrap();
    world.objects.put(&names[0], &Body::Memory(CONTENT.into())).await.unwrap();
    world.check_always(CONTENT, "a write has come late").await;
    world.clock.advance(sound.files.write_window());
    assert_eq!(sound.files.delete_due(&[shard]).await.unwrap().deleted, 1);
    world.check_settled(CONTENT, "after the deletion").await;
}

/// The owner says no, and begins again before its answer is heard.
#[tokio::test]
async fn a_sweep_takes_no_reference_that_was_renewed_while_it_asked() {
    let (world, who) = (World::new(), referrer("a"));
    let sound = world.sound();
    let hash = sound.put(CONTENT, &who).await.unwrap();
    world.clock.advance(DAY);
    let begin_again = |_, _| async {
        sound.put(CONTENT, &who).await.unwrap();
        Answer::Gone
    };
    sound.files.sweep_shards(&[hash.shard()], begin_again).await.unwrap();
    sound.own(&who, &hash).await.unwrap();
    sound.files.confirm(&hash, &who).await.unwrap();
    world.check_settled(CONTENT, "begun again").await;
}
