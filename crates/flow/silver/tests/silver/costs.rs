//! What an import writes, by the engine's own counters.

use std::collections::BTreeMap;

use testing::Counted;
use wire::united::Colour;

use crate::world::{World, said};

/// Unchanged input writes nothing; a changed part its record and two queues; a new version of the same data one row.
async fn costs(world: &World) {
    let (counted, store) = Counted::over(&world.united.store);
    let world = world.over(store.clone());
    let written = || counted.take_written(&store, "silver");
    let rows = |rows: &[(&'static str, usize)]| rows.iter().copied().collect::<BTreeMap<_, _>>();
    let word = |at: i64, name: &str| said(at, Colour::Blue, name, 5);
    let mut first = Vec::new();
    for number in 0..20 {
        first.extend(world.write(&format!("s{number}"), 1, word(1, "A"), false).await);
    }
    world.import(&first).await;
    let all = [("erp_queue", 20), ("gold_queue", 20), ("ssku", 20), ("ssku_existence", 20)];
    assert_eq!(written(), rows(&all), "the first time");

    for batch in [&first[..], &first[..1], &[first.clone(), first.clone()].concat()] {
        world.import(batch).await;
        assert_eq!(written(), rows(&[]), "a repeat writes nothing");
    }
    world.drain_gold().await;
    written();

    let changed = world.write("s1", 1, word(2, "B"), false).await;
    written();
    world.import(&changed).await;
    assert_eq!(written(), rows(&[("erp_queue", 1), ("gold_queue", 1), ("ssku", 1)]), "a change");
    world.drain_gold().await;
    assert_eq!(written()["gold"], 1);

    world.write("s1", 1, word(3, "C"), false).await;
    let back = world.write("s1", 1, word(4, "B"), false).await;
    written();
    world.import(&back).await;
    assert_eq!(written(), rows(&[("ssku", 1)]), "a newer version of the same data");
    world.import(&changed).await;
    assert_eq!(written(), rows(&[]), "an older version");
}

#[tokio::test]
async fn unchanged_input_writes_nothing_in_memory() {
    costs(&World::in_memory()).await;
}

#[tokio::test]
async fn unchanged_input_writes_nothing_on_the_embedded_engine() {
    costs(&World::embedded().await).await;
}

#[tokio::test]
async fn unchanged_input_writes_nothing_on_postgres() {
    let Some(database) = servers::Database::create("silver: costs on postgres").await else { return };
    costs(&World::postgres(&database).await).await;
}
