//! One SSKU after another, on every engine.

use kit::Timestamp;
use prost::Message as _;
use silver::forget::KEEP_REMOVED;
use silver::gold;
use silver::ssku::SourceType;
use silver::steps::DbsMode;
use silver::tables::SSKU;
use united::shard_of;
use united::write::Writing;
use wire::silver::{ErpSsku, SskuRow};
use wire::united::{Colour, OfferKey};

use crate::world::{BUSINESS, World, said};

const BLUE: Colour = Colour::Blue;
const WHITE: Colour = Colour::White;
const DBS: Colour = Colour::Dbs;

/// The way of one SSKU from its first word to its erasure.
async fn life(world: &World) {
    let first = world.write("a", 1, said(1, BLUE, "kettle", 5), false).await;
    world.import(&first).await;
    let state = world.state().await;
    assert_eq!(state.silver.keys().map(|(_, source)| source.as_str()).collect::<Vec<_>>(), ["SUPPLIER"]);
    assert_eq!(state.existence, [("a".to_owned(), 1)].into());
    assert_eq!((state.gold_queue.len(), state.erp_queue.len()), (1, 1));

    // ERP hears nothing before gold is made; gold goes back to united, and ships nothing.
    let (now, all) = (world.now(), 100);
    world.transact(async |tx| gold::work::tell_erp(tx, None, all, now).await).await;
    assert!(world.sent(model::topics::ERP_SSKU).await.is_empty());
    world.drain_gold().await;
    let made = world.state().await.gold["a"].clone();
    assert_eq!((made.value.len(), made.value[0].reason.as_str()), (2, "all_agree"));
    let united = world.united.get(&[OfferKey { business_id: BUSINESS, shop_sku: "a".into() }]).await.unwrap();
    let basic = united[0].as_ref().unwrap().basic.as_ref().unwrap();
    let master = basic.content.as_ref().unwrap().master_data.as_ref().unwrap();
    assert_eq!((master.version, master.parameter.len()), (Some(made.version), 2));
    world.transact(async |tx| gold::work::tell_erp(tx, None, all, now).await).await;
    let told = world.sent(model::topics::ERP_SSKU).await;
    let told = ErpSsku::decode(told[0].as_slice()).unwrap();
    assert_eq!((told.shop_sku.as_str(), told.gold_version, told.removed), ("a", made.version, false));
    assert!(world.sent(model::topics::UNITED_OFFERS).await.is_empty());
    let quiet = world.state().await;
    assert!(quiet.gold_queue.is_empty() && quiet.erp_queue.is_empty());

    // A repeat writes nothing at all.
    world.import(&first).await;
    assert_eq!(world.state().await, quiet);

    // All services DBS: another source, and the former record goes.
    world.import(&world.write("a", 1, said(2, DBS, "kettle", 5), false).await).await;
    assert!(world.record("a", SourceType::Supplier).await.is_none());
    assert!(world.record("a", SourceType::Dbs).await.is_some());
    world.import(&world.write("a", 2, said(3, BLUE, "pot", 6), false).await).await;
    assert!(world.record("a", SourceType::Dbs).await.is_none());
    world.drain_gold().await;
    let gold = world.state().await.gold["a"].clone();
    assert_eq!(gold.value[0].candidate[0].shop_id, 2, "the supplier's word counts before DBS");
    assert_eq!(gold.value[0].reason, "source_priority");

    // Removed: markers go, gold goes, the record stays for a while.
    world.import(&world.write("a", 1, said(4, DBS, "kettle", 5), true).await).await;
    world.import(&world.write("a", 2, said(5, BLUE, "pot", 6), true).await).await;
    world.drain_gold().await;
    let gone = world.state().await;
    assert!(gone.existence.is_empty() && gone.gold.is_empty() && gone.silver.len() == 1);
    let again = world.united.get(&[OfferKey { business_id: BUSINESS, shop_sku: "a".into() }]).await.unwrap();
    let basic = again[0].as_ref().unwrap().basic.as_ref().unwrap();
    assert!(basic.content.as_ref().unwrap().master_data.is_none());
    let removed_at = gone.silver.values().next().unwrap().removed_at;
    let kept_for = Timestamp(removed_at).plus(KEEP_REMOVED).since(world.now());
    world.united.clock.advance(kept_for);
    world.purge().await;
    assert_eq!(world.state().await.silver.len(), 1, "not yet");
    world.united.clock.advance(std::time::Duration::from_secs(86_400));
    world.purge().await;
    assert!(world.state().await.silver.is_empty());
}

#[tokio::test]
async fn a_life_in_memory() {
    life(&World::in_memory()).await;
}

#[tokio::test]
async fn a_life_on_the_embedded_engine() {
    life(&World::embedded().await).await;
}

#[tokio::test]
async fn a_life_on_postgres() {
    let Some(database) = servers::Database::create("silver: a life on postgres").await else { return };
    life(&World::postgres(&database).await).await;
}

/// v5 {shop 1} and v6 {shop 2} in one batch keep both; so do they one by one, in any order.
#[tokio::test]
async fn two_shops_in_one_batch() {
    for order in [[0, 1], [1, 0]] {
        for size in [1, 2] {
            let world = World::in_memory();
            let messages = [
                world.write("a", 1, said(1, BLUE, "one", 0), false).await.remove(0),
                world.write("a", 2, said(2, BLUE, "two", 0), false).await.remove(0),
            ];
            let ordered: Vec<_> = order.iter().map(|at| messages[*at].clone()).collect();
            for batch in ordered.chunks(size) {
                world.import(batch).await;
            }
            let row = world.record("a", SourceType::Supplier).await.unwrap();
            assert_eq!(row.services.keys().copied().collect::<Vec<_>>(), [1, 2], "{order:?} {size}");
        }
    }
}

/// v1 = A, v3 = A, late v2 = B ends as A, and the version of the same data costs no queue.
#[tokio::test]
async fn a_late_word_does_not_win() {
    let world = World::in_memory();
    let one = world.write("a", 1, said(1, BLUE, "A", 0), false).await;
    let two = world.write("a", 1, said(2, BLUE, "B", 0), false).await;
    let three = world.write("a", 1, said(3, BLUE, "A", 0), false).await;
    world.import(&one).await;
    world.drain_gold().await;
    world.import(&three).await;
    let state = world.state().await;
    assert!(state.gold_queue.is_empty(), "the same data is no change");
    world.import(&two).await;
    assert_eq!(world.state().await, state);
    assert!(state.silver.values().all(|row| row.version > 0 && row.services[&1].value.len() == 1));
}

/// BLUE → WHITE, in both orders.
#[tokio::test]
async fn a_service_that_turned_white_does_not_stay_blue() {
    for late in [false, true] {
        let world = World::in_memory();
        let mut messages = [
            world.write("a", 1, said(1, BLUE, "A", 0), false).await.remove(0),
            world.write("a", 1, said(2, WHITE, "A", 0), false).await.remove(0),
        ];
        if late {
            messages.reverse();
        }
        for message in messages {
            world.import(&[message]).await;
        }
        while world.import_again().await > 0 {}
        let row = world.record("a", SourceType::Supplier).await.unwrap();
        assert!(row.services[&1].removed, "late: {late}");
        let state = world.state().await;
        assert!(state.existence.is_empty() && state.cuts.is_empty() && state.failures.is_empty());
    }
}

/// What a mode cut comes in when the mode takes it.
#[tokio::test]
async fn a_setting_that_lets_more_pass_brings_back_what_was_cut() {
    let mut world = World::in_memory();
    world.settings.import.dbs_mode = DbsMode::BlueAndSomeDbs;
    world.settings.import.forbidden = [BUSINESS + 1].into();
    world.import(&world.write("a", 1, said(1, DBS, "A", 0), false).await).await;
    world.import(&world.write("b", 1, said(1, WHITE, "B", 0), false).await).await;
    let cut = world.state().await;
    assert!(cut.silver.is_empty());
    assert_eq!(cut.cuts["a"], ["dbs", "no_services"]);
    assert_eq!(cut.cuts["b"], ["colour"]);
    let reopen = async |world: &World| {
        let now = world.now();
        world
            .transact(async |tx| silver::again::reopen_cuts(tx, &world.settings.import, None, 100, now).await)
            .await;
        world.import_again().await
    };
    assert_eq!(reopen(&world).await, 0);
    world.settings.import.dbs_ranges = vec![(BUSINESS, BUSINESS)];
    assert_eq!(reopen(&world).await, 1);
    let state = world.state().await;
    assert_eq!(state.existence, [("a".to_owned(), 1)].into());
    assert_eq!(state.cuts.keys().collect::<Vec<_>>(), ["b"]);
    // A business that is forbidden keeps what it has, and what comes meanwhile is read when it is allowed again.
    world.settings.import.forbidden = [BUSINESS].into();
    world.import(&world.write("a", 1, said(2, DBS, "new", 0), false).await).await;
    assert_eq!(world.state().await.silver, state.silver);
    assert_eq!(reopen(&world).await, 0);
    world.settings.import.forbidden.clear();
    assert_eq!(reopen(&world).await, 1);
    assert_ne!(world.state().await.silver, state.silver);
}

#[tokio::test]
async fn a_record_of_a_wrong_source_is_swept_away() {
    let world = World::in_memory();
    world.import(&world.write("a", 1, said(1, BLUE, "A", 0), false).await).await;
    let wrong = (BUSINESS, "a", "SUPPLIER", "ELSEWHERE");
    world.transact(async |tx| Ok(tx.put(&SSKU, wrong, &SskuRow::default())?)).await;
    world.purge().await;
    assert_eq!(world.rows(&SSKU).await.into_iter().map(|(key, _)| key.3).collect::<Vec<_>>(), ["DATACAMP"]);
}

#[tokio::test]
async fn an_erased_seller_leaves_nothing() {
    let world = World::in_memory();
    world.import(&world.write("a", 1, said(1, BLUE, "mine", 5), false).await).await;
    world.import(&world.write("a", 2, said(2, BLUE, "other", 6), false).await).await;
    world.import(&world.write("b", 1, said(1, WHITE, "mine", 5), false).await).await;
    world.drain_gold().await;
    for sku in ["a", "b"] {
        world
            .united
            .store
            .transact(shard_of(BUSINESS), async |tx| {
                let mut writing = Writing::begin(&world.united, tx, BUSINESS, [sku.to_owned()], [1]).await?;
                writing.erase(sku, 1)?;
                writing.finish(tx).await
            })
            .await
            .unwrap();
    }
    world.import(&world.sent(model::topics::UNITED_OFFERS).await).await;
    let state = world.state().await;
    assert!(state.gold.is_empty(), "gold with a word of theirs goes at once");
    assert_eq!(state.existence, [("a".to_owned(), 2)].into());
    assert!(state.cuts.is_empty());
    world.drain_gold().await;
    let text = format!("{:?}", world.state().await);
    assert!(text.contains("other") && !text.contains("mine"), "{text}");
}
