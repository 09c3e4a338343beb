//! Two processes on one store: the work of one that is gone is taken over, and what it still does is fenced off.

use std::time::Duration;

use cluster::{Cluster, Options};
use kit::{Clock, Tasks};
use offers::Offers;
use spine::Base;
use stages::{ROLE, Scheduler, Settings, Stages};
use store::{Shard, Store};

use crate::support::{BEGINNING, SHARDS, Script, catalog, content, hash, schema, seller};

struct Process {
    stages: Stages,
    tasks: Tasks,
}

async fn process(store: &Store, clock: &Clock, id: &str, mirror: &Script) -> Process {
    let tasks = Tasks::default();
    let options = Options { id: Some(id.to_owned()), ..Options::default() };
    let cluster = Cluster::join(store.clone(), clock.clone(), options, &tasks).await.unwrap();
    cluster.register_role(ROLE, SHARDS);
    let base = Base { cluster, ..Base::alone(store.clone(), clock.clone()) };
    let offers = Offers::new(&base, offers::Settings::default(), catalog());
    let builtins = vec![mirror.builtin("mirror", &[])];
    let stages = Stages::new(offers, Settings::default(), builtins, Box::new(|_, _| None));
    stages.register().await.unwrap();
    Process { stages, tasks }
}

async fn until_holds(process: &Process, shard: Shard) {
    while !process.stages.offers.cluster.holds(ROLE, shard) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_work_of_a_dead_process_goes_on_within_twelve_seconds() {
    let (store, clock, mirror) = (Store::memory(schema()), Clock::manual(BEGINNING), Script::mirror());
    let first = process(&store, &clock, "first", &mirror).await;
    let shard = Shard::of(&seller(1));
    until_holds(&first, shard).await;
    let offers = &first.stages.offers;
    let actor = offers::write::by_api("test", "create");
    let offer = offers.create(&seller(1), content("A", 1), &actor).await.unwrap();
    first.stages.run_piece(shard, &stages::Piece::Changed).await.unwrap();

    // The first one falls silent with work under way, and the second one begins.
    first.tasks.shutdown().call();
    let silent_at = tokio::time::Instant::now();
    let second = process(&store, &clock, "second", &mirror).await;
    until_holds(&second, shard).await;
    assert!(silent_at.elapsed() <= Duration::from_secs(12), "{:?}", silent_at.elapsed());
    let late = first.stages.run_piece(shard, &stages::Piece::Stage("mirror".to_owned())).await;
    assert!(late.is_err(), "a process without its lease calls no stage");
    assert_eq!(mirror.runs(), 0);
    let scheduler = Scheduler(second.stages.clone());
    cluster::work::run_due(&scheduler, &[shard], clock.now()).await.unwrap();
    let (state, _) =
        second.stages.read_state("mirror", model::OfferId::from_raw(offer.id).unwrap()).await.unwrap();
    assert_eq!((state, mirror.runs()), (Some(hash(&offer)), 1));
    second.tasks.shutdown().call();
}
