//! What a load goes by, and what it need not do again.

use std::time::Duration;

use bytes::Bytes;
use feeds::upload::Upload;
use feeds::{FeedKey, Feeds};
use futures::{StreamExt as _, stream};
use wire::feeds::TaskStatus;

use crate::world::{World, goods, plain, seller};

#[tokio::test(start_paused = true)]
async fn offers_with_warnings_are_not_unified_again_and_the_warnings_are_said_again() {
    let world = World::new().await;
    let key = seller();
    let text = goods(&[("1", "odd place", 5), ("2", "Saw", 1), ("3", "bad category", 1)]);
    let first = world.load(&key, &text).await;
    let again = world.load(&key, &text).await;
    assert_eq!((first.statistics.warnings, first.statistics.errors), (1, 1));
    assert_eq!(again.statistics.by_type, first.statistics.by_type);
    assert_eq!(again.statistics.tally.unwrap().unchanged, 2);
    assert_eq!(world.offers.state(&key, |state| state.same), 2, "what was refused is looked at again");
    let filter = feeds::errors::Filter::default();
    let listed = |load: i64| feeds::errors::list(&world.feeds, &key, load, &filter, None, 10);
    let errors =
        |found: Vec<feeds::errors::Found>| -> Vec<_> { found.into_iter().map(|found| found.error).collect() };
    assert_eq!(
        errors(listed(first.task_id).await.unwrap()),
        errors(listed(again.task_id).await.unwrap()),
        "the list is the same"
    );
}

#[tokio::test(start_paused = true)]
async fn the_same_row_under_another_header_is_another_record() {
    let world = World::new().await;
    let key = seller();
    world.load(&key, "id,title,price\n1,Saw,100\n2,Axe,50\n").await;
    let load = world.load(&key, "id,title,vendor\n1,Saw,100\n2,Axe,50\n").await;
    assert_eq!(load.statistics.tally.unwrap().updated, 2);
    assert_eq!(world.offers.state(&key, |state| state.same), 0);
}

#[tokio::test(start_paused = true)]
async fn every_try_of_a_load_goes_by_the_catalog_that_is_pinned_in_it() {
    let world = World::new().await;
    let newer = Feeds { unify: plain(2), ..world.feeds.clone() };
    let key = |namespace| FeedKey::new("shop", namespace).unwrap();
    let text = goods(&[("1", "Drill", 100)]);
    world.load(&key("before"), &text).await;
    // Made by version 1, processed when the program has version 2.
    let task_id = world.upload(&key("during"), &text).await;
    world.process_as(&newer).await;
    world.ended(&key("during"), task_id).await;
    let fingerprint = |namespace| world.offers.state(&key(namespace), |state| state.live["1"].clone());
    assert_eq!(fingerprint("before"), fingerprint("during"));
    let newest = World { feeds: newer, ..world };
    let fingerprint = |namespace| newest.offers.state(&key(namespace), |state| state.live["1"].clone());
    newest.load(&key("after"), &text).await;
    assert_ne!(fingerprint("before"), fingerprint("after"));
}

#[tokio::test(start_paused = true)]
async fn a_load_by_a_catalog_that_is_not_here_waits_and_says_so() {
    let world = World::new().await;
    let key = seller();
    let newest = Feeds { unify: plain(9), ..world.feeds.clone() };
    let bytes = Bytes::from(goods(&[("1", "Drill", 100)]));
    let stream = stream::iter([Ok::<_, std::io::Error>(bytes)]);
    let task_id = feeds::upload::upload(&newest, &key, stream, Upload::default()).await.unwrap();
    world.process().await;
    let load = world.task(&key, task_id).await;
    assert_eq!(load.task.error.as_ref().unwrap().code, "catalog_unavailable");
    assert_eq!(load.task.status(), TaskStatus::TaskInProgress);
    world.feeds.clock.advance(Duration::from_secs(2));
    world.process_as(&newest).await;
    assert_eq!(world.ended(&key, task_id).await.task.status(), TaskStatus::TaskSucceeded);
}

#[tokio::test(start_paused = true)]
async fn an_upload_whose_sender_falls_silent_is_broken_off() {
    let world = World::new().await;
    let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"id\":"))]);
    let silent = first.chain(stream::pending());
    let refused = feeds::upload::upload(&world.feeds, &seller(), silent, Upload::default()).await;
    let Err(feeds::Error::Engine(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.kind(), files::Kind::Incomplete);
    assert!(feeds::history::loads(&world.feeds, &seller(), None, 1).await.is_err(), "there is no feed");
}
