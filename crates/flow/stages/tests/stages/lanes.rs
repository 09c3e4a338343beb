//! Lanes, fairness, pauses, walks, and what is left of an offer that is gone.

use std::time::Duration;

use model::{OfferId, Status};
use offers::changes::Changes;
use offers::read::shard_of;
use offers::write::{Expected, Verb, by_api};
use stages::stage::{Answer, Outcome, StateChange};
use store::{Shard, Tx};
use wire::offers::{Actor, actor};

use crate::support::{Script, World, content, hash, retitle, seller, state, yes};

/// Changes offers as a load of a feed does, in one transaction.
async fn load(world: &World, ids: &[i64], title: &str) {
    let shard = shard_of(OfferId::from_raw(ids[0]).unwrap());
    let actor = Actor { kind: actor::Kind::Feed.into(), ..Actor::default() };
    let load = async |tx: &mut Tx| {
        let mut changes = Changes::new(&world.offers, world.clock.now());
        for before in offers::read::find_many(tx, ids).await?.into_iter().flatten() {
            let after = model::Offer { content: Some(content(title, 7)), ..before.clone() };
            changes.save(tx, Some(&before), after, &actor)?;
        }
        changes.finish(tx).await
    };
    world.offers.store.transact(shard, load).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_load_is_one_row_and_leaves_nothing_when_nobody_wants_it() {
    let bored = Script::new(|_, _| Answer::No, |_| Ok(Outcome::default()));
    let busy = Script::new(yes(), |_| Ok(Outcome::default()));
    let world = World::new(vec![bored.builtin("bored", &[]), busy.builtin("busy", &[])]).await;
    let mut ids = Vec::new();
    for number in 0..150 {
        ids.push(world.offer(&seller(1), &format!("A{number}"), 1).await.id);
    }
    world.rest().await;
    let runs = busy.runs();
    load(&world, &ids, "loaded").await;
    assert_eq!(world.rows("changed").await, 1);
    world.rest().await;
    assert_eq!(busy.runs() - runs, 150, "each runs, nothing is queued");
    for table in ["changed", "queue", "timers", "pairs", "counts", "failing", "parked"] {
        assert_eq!(world.rows(table).await, 0, "{table}");
    }
}

#[tokio::test(start_paused = true)]
async fn stages_of_one_load_run_on_each_others_changes() {
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
    // In the order of their names: the mirror runs first, and again after the other.
    let world = World::new(vec![mirror.builtin("a-mirror", &[]), shout.builtin("shout", &["title"])]).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    load(&world, &[offer.id], "loaded").await;
    world.rest().await;
    let now = world.read(offer.id).await;
    assert_eq!(now.content.as_ref().unwrap().title, "loaded!");
    assert_eq!(world.pair(offer.id, "a-mirror").await.unwrap().state, Some(hash(&now)));
}

#[tokio::test(start_paused = true)]
async fn one_sellers_thousand_does_not_delay_anothers_one() {
    let slow = Script::new(yes(), |_| Ok(Outcome::default()));
    let world = World::new(vec![slow.builtin("slow", &[])]).await;
    let many = seller(1);
    let one =
        (0..1_000_000).map(|n| format!("one-{n}")).find(|name| Shard::of(name) == Shard::of(&many)).unwrap();
    for number in 0..1_000 {
        world.offer(&many, &format!("A{number}"), 1).await;
    }
    let shard = Shard::of(&many);
    let tell = stages::Piece::Changed;
    while world.rows("changed").await > 0 {
        world.stages.run_piece(shard, &tell).await.unwrap();
    }
    assert_eq!(world.rows("queue").await, 1_000);
    let wanted = world.offer(&one, "B", 1).await;
    world.stages.run_piece(shard, &tell).await.unwrap();
    let run = stages::Piece::Stage("slow".to_owned());
    for _ in 0..2 {
        world.stages.run_piece(shard, &run).await.unwrap();
    }
    assert!(
        slow.runs.lock().unwrap().iter().any(|(id, _)| *id == wanted.id),
        "within as many batches as sellers"
    );
    assert!(slow.runs() <= 200);
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_lower_lane_is_served_while_the_main_lane_is_never_empty() {
    let any = Script::new(yes(), |_| Ok(Outcome::default()));
    let world = World::new(vec![any.builtin("any", &[])]).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    load(&world, &[offer.id], "loaded").await;
    let shard = Shard::of(&seller(1));
    for turn in 0..17 {
        world.edit(offer.id, &format!("edit {turn}"), 1).await;
        world.stages.run_piece(shard, &stages::Piece::Changed).await.unwrap();
    }
    let snapshot = world.offers.store.snapshot(shard).await.unwrap();
    let bulk = store::Range::prefix((offers::stages::Lane::Bulk.number(),), 1).unwrap();
    let left = store::Read::scan(&snapshot, &offers::stages::tables::CHANGED, bulk).await.unwrap();
    assert!(left.is_empty(), "every sixteenth batch is for the others");
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_stage_costs_nothing_and_makes_up_for_it_afterwards() {
    let mirror = Script::mirror();
    let world = World::new(vec![mirror.builtin("mirror", &[])]).await;
    let (old, changed) = (world.offer(&seller(1), "A", 1).await, world.offer(&seller(1), "B", 1).await);
    world.pass(Duration::from_secs(11)).await;
    world.rest().await;
    world.stages.maintain_once().await.unwrap();
    assert_eq!(world.stages.entries()[0].row.owes_since, 0, "the walk of the new stage is over");
    let asked = mirror.asked();
    world.pass(Duration::from_secs(3_600)).await;
    world.stages.pause("mirror").await.unwrap();
    world.edit(changed.id, "C", 1).await;
    let new = world.offer(&seller(2), "D", 1).await;
    assert_eq!(world.rows("changed").await, 0);
    world.rest().await;
    world.stages.resume("mirror").await.unwrap();
    world.rest().await;
    assert_eq!(mirror.asked(), asked, "writers may not know of the resumption yet");
    world.pass(Duration::from_secs(11)).await;
    world.rest().await;
    assert_eq!(mirror.asked(), asked + 2, "only those that changed meanwhile");
    for id in [old.id, changed.id, new.id] {
        let offer = world.read(id).await;
        assert_eq!(world.pair(id, "mirror").await.unwrap().state, Some(hash(&offer)));
    }
    world.stages.maintain_once().await.unwrap();
    assert_eq!(world.stages.entries()[0].row.owes_since, 0);
}

#[tokio::test(start_paused = true)]
async fn a_traversal_looks_at_every_offer_once_and_survives_pauses_and_restarts() {
    let count = Script::new(yes(), |job| {
        let seen = job.state.map_or(0, |state| state.value.len()) + 1;
        Ok(Outcome { state: StateChange::Set(state(&"x".repeat(seen))), ..Outcome::default() })
    });
    let world = World::new(vec![count.builtin("count", &["barcode"])]).await;
    world.pass(Duration::from_secs(11)).await;
    world.stages.maintain_once().await.unwrap();
    let mut ids = Vec::new();
    for number in 0..350 {
        ids.push(world.offer(&seller(number % 3), "A", 1).await.id);
    }
    world.rest().await;
    let before = count.runs();
    world.stages.traverse("count", 1_000_000).await.unwrap();
    let shard = Shard::of(&seller(0));
    world.stages.run_piece(shard, &stages::Piece::Walk("count".to_owned())).await.unwrap();
    world.stages.pause_walk("count").await.unwrap();
    world.pass(Duration::from_secs(60)).await;
    world.rest().await;
    assert_eq!(count.runs() - before, 100, "a paused walk rests where it is");
    let progress = world.stages.progress(&world.stages.entries()[0]).await.unwrap().unwrap();
    assert_eq!((progress.looked, progress.asked), (100, 100));

    let world = World::on(
        world.offers.store.clone(),
        world.clock.clone(),
        vec![count.builtin("count", &["barcode"])],
    )
    .await;
    world.stages.resume_walk("count").await.unwrap();
    for _ in 0..20 {
        world.pass(Duration::from_secs(60)).await;
        world.rest().await;
    }
    assert_eq!(count.runs() - before, 350);
    for id in ids {
        assert_eq!(world.pair(id, "count").await.unwrap().state.unwrap().value.len(), 2);
    }
    world.stages.maintain_once().await.unwrap();
    let entries = world.stages.entries();
    assert!(entries[0].row.walk.unwrap().done_at != 0);
    assert!(world.stages.pause_walk("count").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_offer_that_is_erased_takes_everything_with_it() {
    let mirror = Script::mirror();
    let broken = Script::new(yes(), |_| Err("no".to_owned()));
    let world = World::new(vec![mirror.builtin("mirror", &[]), broken.builtin("broken", &[])]).await;
    let gone = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    assert_eq!(world.rows("pairs").await, 2);
    world.edit(gone.id, "B", 1).await;
    let shard = Shard::of(&seller(1));
    world.stages.run_piece(shard, &stages::Piece::Changed).await.unwrap();
    let remove = async |tx: &mut Tx| {
        let mut changes = Changes::new(&world.offers, world.clock.now());
        let offer = offers::read::require(tx, OfferId::from_raw(gone.id).unwrap()).await?;
        changes.remove(tx, &offer)?;
        changes.finish(tx).await
    };
    world.offers.store.transact(shard, remove).await.unwrap();
    for table in ["changed", "queue", "timers", "pairs", "counts", "failing", "parked"] {
        assert_eq!(world.rows(table).await, 0, "{table}");
    }
    world.rest().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_offer_is_asked_about_once_more() {
    let seen = Script::new(
        |job, _| if job.offer.status() == Status::Deleted { Answer::Yes } else { Answer::No },
        |_| Ok(Outcome { state: StateChange::Clear, ..Outcome::default() }),
    );
    let world = World::new(vec![seen.builtin("seen", &["status"])]).await;
    let offer = world.offer(&seller(1), "A", 1).await;
    world.rest().await;
    let id = OfferId::from_raw(offer.id).unwrap();
    world.offers.act(id, Verb::Delete, Expected::Any, &by_api("test", "delete")).await.unwrap();
    world.rest().await;
    assert_eq!(seen.runs(), 1);
}
