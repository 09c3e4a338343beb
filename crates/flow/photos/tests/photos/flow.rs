//! From requests to results.

use photos::tables::{PHOTO_ERRORS, PHOTO_URLS};
use store::Range;
use wire::photos::PhotoResult;

use crate::images::{jpeg, png_bomb};
use crate::world::{World, releasing, request, state};

fn states(results: &[PhotoResult]) -> Vec<(&str, Vec<&str>)> {
    results
        .iter()
        .map(|result| (result.request_id.as_str(), result.photos.iter().map(state).collect()))
        .collect()
}

#[tokio::test]
async fn a_request_is_answered_once_with_every_url_in_its_order() {
    let world = World::new().await;
    let good = world.gallery.hang("good.jpg", jpeg(300, 200, 1));
    let html = world.gallery.hang("html.jpg", b"<html>".to_vec());
    let bomb = world.gallery.hang("bomb.png", png_bomb(100_000, 100_000));
    let gone = world.gallery.url("gone.jpg");
    let inner = "http://169.254.169.254/latest/meta-data".to_owned();
    let file = "file:///etc/passwd".to_owned();
    world.receive(&request("r1", 7, &[&html, &good, &bomb, &gone, &inner, &file])).await;
    assert_eq!(world.work().await, 1);
    let results = world.deliver().await;
    let expected = [
        "photo_not_an_image",
        "ready",
        "photo_too_many_pixels",
        "photo_not_found",
        "photo_address_forbidden",
        "bad_url",
    ];
    assert_eq!(states(&results), [("r1", expected.to_vec())]);
    let photo = &results[0].photos[1];
    assert_eq!((photo.width, photo.height, photo.hash.len(), photo.sizes.len()), (300, 200, 64, 4));
    let errors = world.store.scan_shards(&PHOTO_ERRORS, &[World::shard()], Range::all(10)).await.unwrap();
    assert_eq!(errors.len(), 5);
    world.check_settled("answered").await;
}

#[tokio::test]
async fn a_known_url_causes_no_traffic_and_a_failed_one_is_tried_again() {
    let world = World::new().await;
    let good = world.gallery.hang("good.jpg", jpeg(300, 200, 1));
    let late = world.gallery.url("late.jpg");
    world.receive(&request("r1", 7, &[&good, &late])).await;
    world.work().await;
    assert_eq!((world.gallery.asked(), world.deliver().await.len()), (2, 1));

    world.receive(&request("r2", 8, &[&good, &good])).await;
    assert_eq!(world.work().await, 0, "answered in the transaction that received it");
    assert_eq!(states(&world.deliver().await), [("r2", vec!["ready", "ready"])]);
    assert_eq!(world.gallery.asked(), 2);

    world.gallery.hang("late.jpg", jpeg(100, 100, 2));
    world.receive(&request("r3", 7, &[&good, &late])).await;
    world.work().await;
    assert_eq!(states(&world.deliver().await), [("r3", vec!["ready", "ready"])]);
    assert_eq!(world.gallery.asked(), 3);
    let errors = world.store.scan_shards(&PHOTO_ERRORS, &[World::shard()], Range::all(10)).await.unwrap();
    assert!(errors.is_empty(), "an error goes when its url succeeds");
}

#[tokio::test]
async fn a_photo_goes_with_its_last_offer() {
    let world = World::new().await;
    let url = world.gallery.hang("a.jpg", jpeg(300, 200, 1));
    world.receive(&request("r1", 7, &[&url])).await;
    world.work().await;
    world.receive(&request("r2", 8, &[&url])).await;
    world.receive(&request("r2", 8, &[&url])).await;
    world.deliver().await;
    for (offer, left) in [(7, 1), (7, 1), (8, 0)] {
        world.receive(&releasing(offer, &[&url])).await;
        world.deliver().await;
        world.sweep().await;
        let rows = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
        assert_eq!(rows.len(), left, "offer {offer}");
        world.check_settled("released").await;
    }
}

#[tokio::test]
async fn a_release_reaches_a_request_that_is_under_way() {
    let world = World::new().await;
    let url = world.gallery.hang("a.jpg", jpeg(300, 200, 1));
    world.receive(&request("r1", 7, &[&url])).await;
    world.receive(&releasing(7, &[&url])).await;
    world.work().await;
    assert_eq!(states(&world.deliver().await), [("r1", vec!["ready"])]);
    world.sweep().await;
    let rows = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
    assert!(rows.is_empty());
    world.check_settled("nobody uses it").await;
}

#[tokio::test]
async fn the_worker_is_woken_by_a_request() {
    let world = World::new().await;
    let url = world.gallery.hang("a.jpg", jpeg(300, 200, 1));
    let shutdown = kit::Shutdown::new();
    let worker = tokio::spawn(photos::run(world.photos(), shutdown.clone()));
    let answered = world.store.wakes().listen("relay");
    world.receive(&request("r1", 7, &[&url])).await;
    answered.woken().await;
    assert_eq!(states(&world.deliver().await), [("r1", vec!["ready"])]);
    shutdown.call();
    worker.await.unwrap();
}
