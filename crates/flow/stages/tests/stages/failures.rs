//! Stages that fail, panic, fight and are not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::OfferId;
use stages::stage::{Answer, Outcome, StateChange};
use web::Verdict;

use crate::support::{Script, World, retitle, seller, state, text, yes};

const HOUR: Duration = Duration::from_secs(3_600);

/// Lets all retries come.
async fn give_up(world: &World) {
    for _ in 0..30 {
        world.pass(HOUR).await;
        world.rest().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pair_that_always_fails_is_parked_and_shown_and_can_be_retried_and_dropped() {
    let mended = Arc::new(AtomicBool::new(false));
    let broken = Script::new(yes(), {
        let mended = mended.clone();
        move |_| {
            if mended.load(Ordering::SeqCst) { Ok(Outcome::default()) } else { Err("no luck".to_owned()) }
        }
    });
    let mirror = Script::mirror();
    let world = World::new(vec![broken.builtin("broken", &[]), mirror.builtin("mirror", &[])]).await;
    let (first, second) = (world.offer(&seller(1), "A", 1).await, world.offer(&seller(2), "B", 2).await);
    world.rest().await;
    assert_eq!(mirror.runs(), 2, "one stage's failure is no other's");
    let pair = world.pair(first.id, "broken").await.unwrap();
    assert_eq!((pair.tries, pair.error.as_str(), pair.queued_at), (1, "no luck", 0));
    give_up(&world).await;
    assert_eq!(broken.runs(), 40, "twenty tries of each");
    let failures = world.stages.failures("broken", None, 10).await.unwrap();
    assert_eq!(failures.len(), 2);
    assert_eq!((failures[0].tries, failures[0].error.as_str()), (20, "no luck"));
    let behind = world.stages.failures("broken", Some(failures[0].offer), 10).await.unwrap();
    assert_eq!(behind, failures[1..]);

    let id = |id: i64| OfferId::from_raw(id).unwrap();
    mended.store(true, Ordering::SeqCst);
    assert!(world.stages.judge("broken", id(first.id), Verdict::Retry).await.unwrap());
    assert!(world.stages.judge("broken", id(second.id), Verdict::Drop).await.unwrap());
    assert!(!world.stages.judge("broken", id(second.id), Verdict::Drop).await.unwrap());
    world.rest().await;
    assert_eq!((broken.runs(), world.rows("parked").await, world.rows("counts").await), (41, 0, 0));
    assert!(world.stages.failures("no such stage", None, 1).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn all_parked_pairs_of_a_stage_can_be_judged_together() {
    let broken = Script::new(yes(), |_| Err("no".to_owned()));
    let world = World::new(vec![broken.builtin("broken", &[])]).await;
    for number in 0..5 {
        world.offer(&seller(number), "A", 1).await;
    }
    world.rest().await;
    give_up(&world).await;
    assert_eq!(world.rows("parked").await, 5);
    assert_eq!(world.stages.judge_all("broken", Verdict::Retry).await.unwrap(), 5);
    assert_eq!((world.rows("parked").await, world.rows("queue").await), (0, 5));
    world.rest().await;
    give_up(&world).await;
    assert_eq!(world.stages.judge_all("broken", Verdict::Drop).await.unwrap(), 5);
    assert_eq!(world.rows("pairs").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_outside_change_un_parks_even_if_the_stage_does_not_ask_for_it() {
    let broken = Script::new(
        |job, _| if job.offer.version == 1 { Answer::Yes } else { Answer::No },
        |job| if job.offer.version == 1 { Err("no".to_owned()) } else { Ok(Outcome::default()) },
    );
    let world = World::new(vec![broken.builtin("broken", &[])]).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    give_up(&world).await;
    assert_eq!(world.rows("parked").await, 1);
    world.edit(offer.id, "B", 1).await;
    world.rest().await;
    assert_eq!(world.rows("pairs").await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_the_failure_of_one_offer() {
    let panics = Script::new(yes(), |job| {
        assert!(job.offer.content.as_ref().unwrap().title != "bad", "bad title");
        Ok(Outcome { state: StateChange::Set(state("seen")), ..Outcome::default() })
    });
    let world = World::new(vec![panics.builtin("panics", &[])]).await;
    let (bad, good) = (world.offer(&seller(1), "bad", 1).await, world.offer(&seller(1), "good", 1).await);
    world.rest().await;
    assert_eq!(text(world.pair(good.id, "panics").await.as_ref()), "seen");
    let pair = world.pair(bad.id, "panics").await.unwrap();
    assert_eq!((pair.tries, pair.error.as_str()), (1, "the stage panicked: bad title"));
}

#[tokio::test(start_paused = true)]
async fn two_stages_that_fight_over_a_field_are_parked_as_a_loop() {
    let fighter = |word: &'static str| {
        Script::new(
            move |job, _| {
                let title = &job.offer.content.as_ref().unwrap().title;
                if title == word { Answer::No } else { Answer::Yes }
            },
            move |job| Ok(retitle(job, word)),
        )
    };
    let (left, right) = (fighter("left"), fighter("right"));
    let world = World::new(vec![left.builtin("left", &["title"]), right.builtin("right", &["title"])]).await;
    let offer = world.offer(&seller(1), "begin", 1).await;
    world.rest().await;
    let runs = left.runs() + right.runs();
    assert!((2 * 20 - 1..=2 * 20 + 2).contains(&runs), "{runs} runs");
    assert!(world.rows("parked").await >= 1);
    world.edit(offer.id, "again", 1).await;
    world.rest().await;
    assert!(left.runs() + right.runs() > runs, "a change from outside begins it anew");
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_day_parks_nobody() {
    let mirror = Script::mirror();
    let world = World::new(vec![mirror.builtin("mirror", &[])]).await;
    *mirror.down.lock().unwrap() = Some("connection refused".to_owned());
    let mut ids = Vec::new();
    for hour in 0..24 {
        ids.push(world.offer(&seller(hour % 3), "A", 1).await.id);
        world.pass(HOUR).await;
        world.rest().await;
        world.stages.maintain_once().await.unwrap();
    }
    assert_eq!((world.rows("parked").await, mirror.runs()), (0, 0));
    let row = world.stages.entries()[0].row.clone();
    assert!(row.suspended_at != 0 && row.owes_since != 0, "it is told of nothing and owes");
    assert!(world.rows("changed").await + world.rows("queue").await < ids.len(), "no backlog grows");
    *mirror.down.lock().unwrap() = None;
    for _ in 0..10 {
        world.pass(Duration::from_secs(60)).await;
        world.stages.maintain_once().await.unwrap();
        world.rest().await;
    }
    for id in ids {
        let offer = world.read(id).await;
        assert_eq!(world.pair(id, "mirror").await.unwrap().state, Some(crate::support::hash(&offer)));
    }
    assert_eq!(world.stages.entries()[0].row.owes_since, 0);
}

#[tokio::test(start_paused = true)]
async fn a_state_is_changed_from_outside_only_in_the_version_that_was_read() {
    let echo = Script::new(|_, _| Answer::No, |_| Ok(Outcome::default()));
    let world = World::new(vec![echo.builtin("echo", &[])]).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    let id = OfferId::from_raw(offer.id).unwrap();
    assert_eq!(world.stages.read_state("echo", id).await.unwrap(), (None, 0));
    assert!(!world.stages.update_state("echo", id, state("x"), 5).await.unwrap());
    assert!(world.stages.update_state("echo", id, state("x"), 0).await.unwrap());
    assert!(!world.stages.update_state("echo", id, state("y"), 0).await.unwrap());
    let (stored, version) = world.stages.read_state("echo", id).await.unwrap();
    assert_eq!(stored, Some(state("x")));
    world.rest().await;
    assert_eq!(echo.runs(), 1, "it asks its stage again");
    assert!(world.stages.update_state("echo", id, state("y"), version).await.unwrap());
    let large = state(&"x".repeat(70_000));
    assert!(world.stages.update_state("echo", id, large, version + 1).await.is_err());
}
