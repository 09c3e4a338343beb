//! What cannot be imported is owed, stops nothing, and is paid.

use std::time::Duration;

use prost::Message as _;
use silver::convert::read_batch;
use silver::failures::Filter;
use silver::ssku::SourceType;
use silver::{Silver, debt, settings};
use web::Verdict;
use wire::united::{Colour, MigrationDone, MigrationRow, MigrationState, OpenMigrations};

use crate::world::{BUSINESS, World, key, said};

const BLUE: Colour = Colour::Blue;

#[tokio::test]
async fn a_bad_offer_is_owed_alone_and_imported_when_its_cause_is_gone() {
    let world = World::in_memory();
    let bad = world.write("bad", 1, said(1, BLUE, "A", -5), false).await;
    let good = world.write("good", 1, said(1, BLUE, "B", 5), false).await;
    world.import(&[bad.clone(), good].concat()).await;
    let state = world.state().await;
    assert_eq!(state.failures.keys().collect::<Vec<_>>(), ["bad"]);
    assert!(state.failures["bad"].reason.contains("weight: -5"), "{:?}", state.failures);
    assert_eq!(state.silver.keys().map(|(sku, _)| sku.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(state.due, 1);
    // It is not due yet; when it is, it fails again and waits longer.
    assert_eq!(world.import_again().await, 0);
    world.united.clock.advance(Duration::from_secs(5));
    assert_eq!(world.import_again().await, 1);
    let again = world.state().await.failures["bad"].clone();
    assert_eq!(again.tries, 1);
    assert!(again.not_before > world.now().0);
    // The cause goes; united has the offer as it is now, and the debt is paid without another message.
    world.write("bad", 1, said(2, BLUE, "A", 7), false).await;
    let now = world.now();
    assert!(world.transact(async |tx| debt::retry(tx, &key("bad"), now).await).await.is_some());
    assert_eq!(world.import_again().await, 1);
    let paid = world.state().await;
    assert!(paid.failures.is_empty() && paid.due == 0);
    assert!(world.record("bad", SourceType::Supplier).await.is_some());
    // The bad message comes once more: what it would have brought is here.
    world.import(&bad).await;
    assert_eq!(world.state().await, paid);
}

#[tokio::test]
async fn a_later_message_pays_only_for_what_it_brings() {
    let world = World::in_memory();
    let bad = world.write("a", 1, said(1, BLUE, "A", -5), false).await;
    let other = world.write("a", 2, said(2, BLUE, "B", 5), false).await;
    world.import(&[bad, other].concat()).await;
    let state = world.state().await;
    assert!(state.silver.len() == 1 && state.failures.len() == 1, "shop 1 is still missing");
    let whole = world.write("a", 1, said(3, BLUE, "C", 5), false).await;
    world.import(&whole).await;
    assert!(world.state().await.failures.is_empty());
}

#[tokio::test]
async fn what_united_does_not_have_stays_owed_and_can_be_dropped() {
    let world = World::in_memory();
    let message = world.write("a", 1, said(1, BLUE, "A", -5), false).await.remove(0);
    world.import(&[message]).await;
    world.transact(async |tx| Ok(tx.delete(&united::OFFERS, (BUSINESS, "a"))?)).await;
    world.united.clock.advance(Duration::from_secs(5));
    world.import_again().await;
    world.united.clock.advance(Duration::from_secs(60));
    world.import_again().await;
    let owed = world.state().await.failures["a"].clone();
    assert_eq!(owed.tries, 2);
    assert!(
        owed.reason.contains("-5") && owed.reason.ends_with("; united has no such offer"),
        "{}",
        owed.reason
    );
    let now = world.now();
    let forget = async || world.transact(async |tx| debt::drop_debt(tx, &key("a"), now).await).await;
    assert_eq!(forget().await, Some(owed));
    assert_eq!(forget().await, None);
    let state = world.state().await;
    assert!(state.failures.is_empty() && state.due == 0);
}

#[tokio::test]
async fn a_message_with_an_offer_that_cannot_be_decoded() {
    let world = World::in_memory();
    let mut message = world.write("a", 1, said(1, BLUE, "marker", 5), false).await.remove(0);
    let at = message.windows(6).position(|bytes| bytes == b"marker").unwrap();
    message[at] = 0xff;
    assert!(read_batch(&message).unwrap()[0].ssku.is_err());
    world.import(&[message]).await;
    assert!(world.state().await.failures["a"].part.is_empty());
    world.united.clock.advance(Duration::from_secs(5));
    world.import_again().await;
    let state = world.state().await;
    assert!(state.failures.is_empty() && state.silver.len() == 1);
}

pub(crate) async fn ask(world: &World, request: &str, sku: &str, version: i64) {
    world
        .transact(async |tx| {
            let mut row = MigrationRow { shop_sku: sku.to_owned(), version, ..MigrationRow::default() };
            row.set_state(MigrationState::Shipped);
            tx.put(&united::MIGRATIONS, (BUSINESS, request), &row)?;
            let open = OpenMigrations { request_id: vec![request.to_owned()], version, ..Default::default() };
            Ok(tx.put(&united::MIGRATIONS_OPEN, (BUSINESS, sku), &open)?)
        })
        .await;
}

pub(crate) async fn answered(world: &World) -> Vec<String> {
    let sent = world.sent(model::topics::MIGRATIONS_DONE).await;
    sent.iter().map(|done| MigrationDone::decode(done.as_slice()).unwrap().request_id).collect()
}

/// Every offer that comes answers its migration: kept, unsupported, unchanged or older; only one that failed does not.
async fn answers(world: &World) {
    let blue = world.write("kept", 1, said(1, BLUE, "A", 5), false).await;
    let white = world.write("white", 1, said(1, Colour::White, "A", 5), false).await;
    let bad = world.write("bad", 1, said(1, BLUE, "A", -5), false).await;
    let now = world.now().0;
    ask(world, "early", "kept", now + 1_000_000).await;
    world.import(&blue).await;
    assert!(answered(world).await.is_empty(), "silver does not hold that version yet");
    for (request, sku, message) in [("repeated", "kept", &blue), ("unsupported", "white", &white)] {
        ask(world, request, sku, 1).await;
        world.import(message).await;
        assert_eq!(answered(world).await, [request]);
        world.import(message).await;
        assert!(answered(world).await.is_empty(), "once");
    }
    ask(world, "failed", "bad", 1).await;
    world.import(&bad).await;
    assert!(answered(world).await.is_empty());
    world.write("bad", 1, said(2, BLUE, "A", 5), false).await;
    world.united.clock.advance(Duration::from_secs(5));
    world.import_again().await;
    assert_eq!(answered(world).await, ["failed"]);
}

#[tokio::test]
async fn migrations_are_answered_whatever_becomes_of_the_offer() {
    answers(&World::in_memory()).await;
    answers(&World::embedded().await).await;
}

#[tokio::test]
async fn and_so_they_are_on_postgres() {
    let Some(database) = servers::Database::create("silver: migrations on postgres").await else { return };
    answers(&World::postgres(&database).await).await;
}

/// Many at once, by business and reason; over all businesses if none is named.
#[tokio::test]
async fn failures_are_listed_retried_and_dropped_by_filter() {
    let world = World::in_memory();
    for sku in ["a", "b", "c"] {
        world.import(&world.write(sku, 1, said(1, BLUE, "A", -5), false).await).await;
    }
    let silver = Silver::new(world.united.clone());
    let skus = async |filter: &Filter, after: Option<&str>, limit| {
        let after = after.map(key);
        let found = silver.failures(filter, after.as_ref(), limit).await.unwrap();
        found.into_iter().map(|(key, _)| key.shop_sku).collect::<Vec<_>>()
    };
    let all = Filter::default();
    let ours = Filter::of_business(BUSINESS);
    for filter in [&all, &ours] {
        assert_eq!(skus(filter, None, 10).await, ["a", "b", "c"]);
        assert_eq!(skus(filter, None, 2).await, ["a", "b"]);
        assert_eq!(skus(filter, Some("b"), 2).await, ["c"]);
    }
    let other = Filter { reason: Some("colour".to_owned()), ..all.clone() };
    let weight = Filter { reason: Some("weight".to_owned()), parked: Some(false), ..ours.clone() };
    assert!(skus(&other, None, 10).await.is_empty());
    assert!(skus(&Filter { parked: Some(true), ..all.clone() }, None, 10).await.is_empty());
    assert!(skus(&Filter::of_business(BUSINESS + 1), None, 10).await.is_empty());
    assert_eq!(silver.judge_all(&other, Verdict::Retry).await.unwrap(), 0);

    // The cause of two goes; all three are tried at once, and one still fails.
    for sku in ["a", "b"] {
        world.write(sku, 1, said(2, BLUE, "A", 5), false).await;
    }
    assert_eq!(world.import_again().await, 0, "none is due");
    assert_eq!(silver.judge_all(&weight, Verdict::Retry).await.unwrap(), 3);
    assert_eq!(world.import_again().await, 3);
    assert_eq!(skus(&all, None, 10).await, ["c"]);
    assert_eq!(silver.judge_all(&weight, Verdict::Drop).await.unwrap(), 1);
    let state = world.state().await;
    assert!(state.failures.is_empty() && state.due == 0);
    assert_eq!(silver.judge(&key("c"), Verdict::Drop).await.unwrap(), None);
}

#[tokio::test]
async fn settings_are_read_from_the_store() {
    let world = World::in_memory();
    let store = &world.united.store;
    settings::set(store, settings::FORBIDDEN_BUSINESSES, "[7]", None, "test", world.now()).await.unwrap();
    let read = settings::read(store).await.unwrap();
    assert!(read.import.forbidden.contains(&BUSINESS));
}

/// A migration waits for what is owed; a person gives the debt up.
#[tokio::test]
async fn a_dropped_debt_answers_its_migration() {
    for whole_business in [false, true] {
        let world = World::in_memory();
        let bad = world.write("a", 1, said(1, BLUE, "A", -5), false).await;
        let (request_id, version) = (vec!["r".to_owned()], world.now().0);
        let mut row = MigrationRow { shop_sku: "a".into(), source_business_id: 8, ..MigrationRow::default() };
        row.set_state(MigrationState::Shipped);
        let open = OpenMigrations { request_id, version, ..OpenMigrations::default() };
        world
            .transact(async |tx| {
                tx.put(&united::MIGRATIONS, (BUSINESS, "r"), &row)?;
                Ok(tx.put(&united::MIGRATIONS_OPEN, (BUSINESS, "a"), &open)?)
            })
            .await;
        world.import(&bad).await;
        assert!(world.sent(model::topics::MIGRATIONS_DONE).await.is_empty(), "it is owed");
        let silver = Silver::new(world.united.clone());
        if whole_business {
            let filter = Filter::of_business(BUSINESS);
            assert_eq!(silver.judge_all(&filter, Verdict::Drop).await.unwrap(), 1);
        } else {
            silver.judge(&key("a"), Verdict::Drop).await.unwrap().unwrap();
        }
        let done = world.sent(model::topics::MIGRATIONS_DONE).await;
        assert_eq!(done.len(), 1);
        assert_eq!(MigrationDone::decode(done[0].as_slice()).unwrap().request_id, "r");
    }
}
