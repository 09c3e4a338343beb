//! From requests to results.

use cluster::work::{KILLED_ITS_WORKER, Work as _};
use photos::Requested;
use photos::tables::{ErrorRow, PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES};
use store::Range;
use wire::photos::PhotoResult;

use crate::images::{jpeg, png_bomb};
use crate::world::{SELLER, World, releasing, request, state};

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
async fn an_uploaded_photo_is_its_sellers_alone() {
    let world = World::new().await;
    let own = photos::upload(&world.photos(), SELLER, jpeg(300, 200, 1)).await.unwrap();
    let other = photos::upload(&world.photos(), "seller-2", jpeg(300, 200, 2)).await.unwrap();
    world.receive(&request("r1", 7, &[&own.url, &other.url])).await;
    world.work().await;
    assert_eq!(states(&world.deliver().await), [("r1", vec!["ready", "photo_not_uploaded"])]);
    let rows = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
    assert_eq!(rows.len(), 1);
}

/// What the loop does with a request whose photos have ended their process too often.
#[tokio::test]
async fn a_photo_that_keeps_killing_its_process_is_refused_and_the_others_are_there() {
    let world = World::new().await;
    let good = world.gallery.hang("good.jpg", jpeg(300, 200, 1));
    let poison = world.gallery.hang("poison.jpg", jpeg(300, 200, 2));
    world.receive(&request("r1", 7, &[&good])).await;
    world.work().await;
    world.deliver().await;
    world.receive(&request("r2", 8, &[&good, &poison])).await;
    let requested = Requested(world.photos());
    assert!(requested.plan().max_tries.is_some(), "its tries are counted");
    let key = (SELLER.to_owned(), 8, "r2".to_owned());
    for _ in 0..2 {
        requested.give_up(World::shard(), &key, KILLED_ITS_WORKER).await.unwrap();
    }
    assert_eq!(world.gallery.asked(), 1, "nobody looks at it again");
    let results = world.deliver().await;
    assert_eq!(states(&results), [("r2", vec!["ready", "photo_damaged"])]);
    let issue = results[0].photos[1].error.as_ref().unwrap();
    assert_eq!(
        (issue.value.as_str(), issue.parameters.as_slice()),
        (poison.as_str(), &["it cannot be worked on".to_owned()][..])
    );
    assert_eq!(world.work().await, 0, "nothing waits any more");
    world.check_settled("given up").await;
    // Somebody who asks for it anew may have a program that can read it.
    world.receive(&request("r3", 8, &[&good, &poison])).await;
    world.work().await;
    assert_eq!(states(&world.deliver().await), [("r3", vec!["ready", "ready"])]);
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
    let worker = tokio::spawn(cluster::work::run(
        world.photos().cluster,
        photos::Requested(world.photos()),
        shutdown.clone(),
    ));
    let answered = world.store.wakes().listen("relay");
    world.receive(&request("r1", 7, &[&url])).await;
    answered.woken().await;
    assert_eq!(states(&world.deliver().await), [("r1", vec!["ready"])]);
    shutdown.call();
    worker.await.unwrap();
}

#[tokio::test]
async fn nothing_of_an_erased_seller_stays() {
    let world = World::new().await;
    let used = world.gallery.hang("a.jpg", jpeg(300, 200, 1));
    let gone = world.gallery.url("gone.jpg");
    world.receive(&request("r1", 7, &[&used, &gone])).await;
    world.work().await;
    // An uploaded photo that no offer names, and one of another seller.
    photos::upload(&world.photos(), SELLER, jpeg(300, 200, 2)).await.unwrap();
    let other = photos::upload(&world.photos(), "seller-2", jpeg(300, 200, 3)).await.unwrap();
    for _ in 0..2 {
        world.apply(&photos::Erasures, model::erasure::write(SELLER, 1)).await;
    }
    world.deliver().await;
    world.sweep().await;
    let all: Vec<_> = store::Shard::all().collect();
    let urls = world.store.scan_shards(&PHOTO_URLS, &all, Range::all(10)).await.unwrap();
    assert_eq!(urls.iter().map(|(_, _, row)| row.url.as_str()).collect::<Vec<_>>(), [other.url]);
    assert!(world.store.scan_shards(&PHOTO_USES, &all, Range::all(10)).await.unwrap().is_empty());
    assert!(world.store.scan_shards(&PHOTO_ERRORS, &all, Range::all(10)).await.unwrap().is_empty());
    world.check_settled("one seller is erased").await;
}

#[tokio::test]
async fn an_erasure_of_many_goes_on_by_itself() {
    let world = World::new().await;
    let fill = async |tx: &mut store::Tx| {
        for number in 0..450_u32 {
            let row = ErrorRow { url: number.to_string(), ..ErrorRow::default() };
            tx.put(&PHOTO_ERRORS, (SELLER, number.to_be_bytes().to_vec()), &row)?;
        }
        Ok::<_, store::Error>(())
    };
    world.store.transact(World::shard(), fill).await.unwrap();
    let topics = topics::Topics::alone(world.store.clone(), topics::Options::default());
    topics.ensure(model::topics::OFFERS_ERASURES, 1).await.unwrap();
    let sent = vec![topics::Message::new(SELLER, model::erasure::write(SELLER, 1))];
    topics.publish(model::topics::OFFERS_ERASURES, sent).await.unwrap();
    let (shutdown, topic) = (kit::Shutdown::new(), model::topics::OFFERS_ERASURES);
    let emptied = async {
        while !world
            .store
            .scan_shards(&PHOTO_ERRORS, &[World::shard()], Range::all(1))
            .await
            .unwrap()
            .is_empty()
        {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        shutdown.call();
    };
    tokio::join!(
        topics::relay::run(topics.clone(), shutdown.clone()),
        topics::consume::run(topics.clone(), topic, photos::GROUP, photos::Erasures, shutdown.clone()),
        emptied,
    );
    let messages = topics.read(topic, 0, 0, 10).await.unwrap().len();
    assert_eq!(messages, 3, "450 in steps of 200");
}

#[tokio::test]
async fn an_erasure_takes_the_uses_of_one_url_in_steps() {
    let world = World::new().await;
    let used = world.gallery.hang("a.jpg", jpeg(300, 200, 1));
    world.receive(&request("r1", 7, &[&used])).await;
    world.work().await;
    let hash = photos::tables::url_hash(&used);
    let fill = async |tx: &mut store::Tx| {
        for offer in 100..2_300_i64 {
            tx.put(&PHOTO_USES, (SELLER, &hash, offer), &())?;
        }
        Ok::<_, store::Error>(())
    };
    world.store.transact(World::shard(), fill).await.unwrap();
    let left = async || {
        let uses = world.store.scan_shards(&PHOTO_USES, &[World::shard()], Range::all(3_000)).await.unwrap();
        let urls = world.store.scan_shards(&PHOTO_URLS, &[World::shard()], Range::all(10)).await.unwrap();
        (uses.len(), urls.len())
    };
    for expected in [(1_201, 1), (201, 1), (0, 0)] {
        world.apply(&photos::Erasures, model::erasure::write(SELLER, 1)).await;
        assert_eq!(left().await, expected);
    }
}
