//! One change on its way: told, asked, queued, run, saved.

use std::time::Duration;

use kit::Timestamp;
use stages::stage::{Answer, Outcome, StateChange, Timer};

use crate::support::{Script, World, hash, retitle, seller, state, text, timer, yes};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test(start_paused = true)]
async fn a_change_reaches_the_stages_whose_mask_it_meets_and_no_other() {
    let mirror = Script::mirror();
    let price = Script::new(yes(), |_| Ok(Outcome::default()));
    let world = World::new(vec![mirror.builtin("mirror", &[]), price.builtin("price", &["price"])]).await;
    let offer = world.offer(&seller(1), "Bicycle", 100).await;
    assert_eq!(world.rows("changed").await, 1);
    world.rest().await;
    assert_eq!(world.pair(offer.id, "mirror").await.unwrap().state, Some(hash(&offer)));
    assert_eq!((mirror.runs(), price.runs()), (1, 1), "a new offer concerns everybody");
    assert_eq!(world.rows("pairs").await, 1, "a run without state and timer leaves nothing");

    let edited = world.edit(offer.id, "Red bicycle", 100).await;
    world.rest().await;
    assert_eq!(world.pair(offer.id, "mirror").await.unwrap().state, Some(hash(&edited)));
    assert_eq!((mirror.runs(), price.asked()), (2, 1), "the price did not change");
    assert_eq!(world.rows("changed").await + world.rows("queue").await + world.rows("counts").await, 0);
    assert_eq!(world.read(offer.id).await.version, 2, "states are no change of the offer");
}

#[tokio::test(start_paused = true)]
async fn without_an_interested_stage_nothing_is_written() {
    let price = Script::new(yes(), |_| Ok(Outcome::default()));
    let world = World::new(vec![price.builtin("price", &["price"])]).await;
    let offer = world.offer(&seller(1), "Bicycle", 100).await;
    world.rest().await;
    world.edit(offer.id, "Red bicycle", 100).await;
    assert_eq!(world.rows("changed").await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_run_changes_is_told_to_the_others_and_not_to_itself() {
    let shout = Script::new(
        |job, _| {
            if job.offer.content.as_ref().unwrap().title.ends_with('!') { Answer::No } else { Answer::Yes }
        },
        |job| {
            let title = job.offer.content.as_ref().unwrap().title.trim_end_matches('!').to_owned();
            Ok(retitle(job, &format!("{title}!")))
        },
    );
    let mirror = Script::mirror();
    let world = World::new(vec![mirror.builtin("mirror", &[]), shout.builtin("shout", &["title"])]).await;
    let offer = world.offer(&seller(1), "Bicycle", 100).await;
    world.rest().await;
    let now = world.read(offer.id).await;
    assert_eq!((now.content.as_ref().unwrap().title.as_str(), now.version), ("Bicycle!", 2));
    assert_eq!(world.pair(offer.id, "mirror").await.unwrap().state, Some(hash(&now)));
    assert_eq!((shout.asked(), shout.runs()), (1, 1));
    let events = world.offers.events(model::OfferId::from_raw(offer.id).unwrap(), None, 9).await.unwrap();
    assert_eq!(events[0].row.actor.as_ref().unwrap().who, "shout");
}

#[tokio::test(start_paused = true)]
async fn timers_fire_when_their_time_has_come_and_replaced_ones_never() {
    let later = Script::new(
        |job, _| Answer::At(Timestamp(job.offer.updated_at).plus(DAY)),
        |job| {
            Ok(if job.state.is_none() {
                Outcome { state: StateChange::Set(state("once")), ..timer(job.now.plus(DAY)) }
            } else {
                Outcome::default()
            })
        },
    );
    let world = World::new(vec![later.builtin("later", &[])]).await;
    let offer = world.offer(&seller(1), "Bicycle", 100).await;
    world.rest().await;
    assert_eq!((later.runs(), world.rows("timers").await), (0, 1));
    world.pass(DAY / 2).await;
    world.edit(offer.id, "Bicycle", 200).await;
    world.rest().await;
    world.pass(DAY / 2).await;
    world.rest().await;
    assert_eq!(later.runs(), 0, "the first timer was replaced");
    world.pass(DAY / 2).await;
    world.rest().await;
    assert_eq!((later.runs(), world.rows("timers").await), (1, 1));
    world.pass(DAY.saturating_sub(Duration::from_micros(1))).await;
    world.rest().await;
    assert_eq!(later.runs(), 1, "a timer is never early");
    world.pass(Duration::from_micros(1)).await;
    world.rest().await;
    assert_eq!((later.runs(), world.rows("timers").await, world.rows("counts").await), (2, 0, 0));
    assert_eq!(text(world.pair(offer.id, "later").await.as_ref()), "once");
}

#[tokio::test(start_paused = true)]
async fn an_answer_can_void_a_timer() {
    let fickle = Script::new(
        |job, _| match job.offer.content.as_ref().unwrap().title.as_str() {
            "wait" => Answer::At(job.now.plus(DAY)),
            _ => Answer::Clear,
        },
        |_| Ok(Outcome { timer: Timer::Clear, ..Outcome::default() }),
    );
    let world = World::new(vec![fickle.builtin("fickle", &["title"])]).await;
    let offer = world.offer(&seller(1), "wait", 100).await;
    world.rest().await;
    assert_eq!(world.rows("timers").await, 1);
    world.edit(offer.id, "go", 100).await;
    world.rest().await;
    assert_eq!((world.rows("timers").await, world.rows("pairs").await), (0, 0));
}
