//! The scheduler in the loop that runs it: nothing that is due waits for the poll that makes up for lost wake-ups.

use std::time::Duration;

use cluster::work;
use kit::Shutdown;
use stages::Scheduler;

use crate::support::{Script, World, hash, seller};

/// Far below the half minute of that poll.
const SOON: Duration = Duration::from_secs(3);

/// Each waits for the others' offers, and changes come while they are at it.
#[tokio::test(start_paused = true)]
async fn what_waited_for_another_stage_or_came_during_a_run_runs_at_once() {
    let quick = Script::mirror();
    let slow = Script::mirror().taking(Duration::from_millis(40));
    let slower = Script::mirror().taking(Duration::from_millis(70));
    let builtins = vec![
        quick.builtin("quick", &[]),
        slow.builtin("slow", &["title"]),
        slower.builtin("slower", &["title", "price"]),
    ];
    let world = World::new(builtins).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    let shutdown = Shutdown::new();
    let cluster = world.offers.cluster.clone();
    let running = tokio::spawn(work::run(cluster, Scheduler(world.stages.clone()), shutdown.clone()));
    for number in 0..200_u64 {
        world.edit(offer.id, &format!("A{number}"), number as i64).await;
        let changed = tokio::time::Instant::now();
        // At every place of the others' runs.
        tokio::time::sleep(Duration::from_millis(number * 7 % 120)).await;
        world.edit(offer.id, &format!("B{number}"), number as i64).await;
        loop {
            let wanted = Some(hash(&world.read(offer.id).await));
            let mut agree = true;
            for stage in ["quick", "slow", "slower"] {
                agree &= world.pair(offer.id, stage).await.is_some_and(|pair| pair.state == wanted);
            }
            if agree {
                break;
            }
            assert!(changed.elapsed() < SOON, "change {number} waits");
            world.clock.advance(Duration::from_millis(10));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    shutdown.call();
    running.await.unwrap();
}
