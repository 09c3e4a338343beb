//! Migrations wait for all that moved, and for nothing that silver does not keep.

use std::collections::BTreeMap;

use silver::steps::DbsMode;
use united::{MIGRATIONS_OPEN, shard_of};
use wire::united::{Colour, MigrationRow, MigrationState, OpenMigrations};

use crate::failures::{answered, ask};
use crate::world::{BUSINESS, World, said};

const BLUE: Colour = Colour::Blue;
const WHITE: Colour = Colour::White;
const DBS: Colour = Colour::Dbs;

/// A request that waits for these parts.
async fn wait_for(world: &World, request: &str, sku: &str, parts: BTreeMap<u32, i64>) {
    let version = parts.values().copied().max().unwrap_or(0);
    let mut row = MigrationRow { shop_sku: sku.to_owned(), version, ..MigrationRow::default() };
    row.set_state(MigrationState::Shipped);
    let open = OpenMigrations { request_id: vec![request.to_owned()], version, parts };
    world
        .transact(async |tx| {
            tx.put(&united::MIGRATIONS, (BUSINESS, request), &row)?;
            Ok(tx.put(&MIGRATIONS_OPEN, (BUSINESS, sku), &open)?)
        })
        .await;
}

/// The versions of the parts that united has.
async fn versions(world: &World, sku: &str) -> BTreeMap<u32, i64> {
    let row = world.united.store.get(&united::OFFERS, shard_of(BUSINESS), (BUSINESS, sku)).await;
    let row = row.unwrap().unwrap();
    let services = row.services.iter().map(|(shop, part)| (*shop, part.version));
    row.basic.iter().map(|part| (0, part.version)).chain(services).collect()
}

/// An offer came in two messages: only the second one answers, whatever becomes of the parts.
#[tokio::test]
async fn all_parts_that_moved_are_waited_for() {
    for first_colour in [BLUE, WHITE, DBS] {
        let mut world = World::in_memory();
        world.settings.import.dbs_mode = DbsMode::BlueAndSomeDbs;
        let one = world.write("a", 1, said(1, first_colour, "one", 5), false).await;
        let two = world.write("a", 2, said(2, BLUE, "two", 5), false).await;
        // The greatest version is the basic part's, which both messages have.
        let mut parts = versions(&world, "a").await;
        parts.insert(0, parts[&1]);
        wait_for(&world, "both", "a", parts).await;
        world.import(&one).await;
        assert!(answered(&world).await.is_empty(), "{first_colour:?}");
        world.import(&one).await;
        assert!(answered(&world).await.is_empty(), "{first_colour:?}");
        world.import(&two).await;
        // What was cut before the offer was kept is read again first.
        while world.import_again().await > 0 {}
        assert_eq!(answered(&world).await, ["both"], "{first_colour:?}");
        world.import(&two).await;
        assert!(answered(&world).await.is_empty(), "once");
    }
}

/// What silver does not keep, or knows already, is answered at once.
#[tokio::test]
async fn what_is_not_kept_is_answered() {
    let mut world = World::in_memory();
    // Older than what is stored.
    let old = world.write("older", 1, said(1, BLUE, "A", 5), false).await;
    let new = world.write("older", 1, said(2, BLUE, "B", 5), false).await;
    world.import(&new).await;
    ask(&world, "older", "older", 1).await;
    world.import(&old).await;
    assert_eq!(answered(&world).await, ["older"]);
    // Cut by the mode, so that nothing is left after the merge.
    world.settings.import.dbs_mode = DbsMode::BlueAndSomeDbs;
    let dbs = world.write("dbs", 1, said(1, DBS, "A", 5), false).await;
    wait_for(&world, "dbs", "dbs", versions(&world, "dbs").await).await;
    world.import(&dbs).await;
    assert_eq!(answered(&world).await, ["dbs"]);
    assert_eq!(world.state().await.cuts["dbs"], ["dbs", "no_services"]);
    // Of a forbidden business.
    world.settings.import.forbidden = [BUSINESS].into();
    let forbidden = world.write("forbidden", 1, said(1, BLUE, "A", 5), false).await;
    wait_for(&world, "forbidden", "forbidden", versions(&world, "forbidden").await).await;
    world.import(&forbidden).await;
    assert_eq!(answered(&world).await, ["forbidden"]);
}
