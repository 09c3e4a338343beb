//! What a sender may not do, and how he is told.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::{Feed, goods, problem, wait_for};
use super::shop::Shop;
use crate::program::{Server, answer};

/// Hands over a collected feed; the source is its namespace.
async fn hand_over(server: &Server, source: &str, url: &str) -> (StatusCode, Value) {
    let body = json!({"seller_id": "shop", "file_url": url, "source": source});
    answer(server.request(Method::POST, "/v1/parsed-feeds").json(&body)).await
}

#[tokio::test]
async fn no_more_feeds_are_handed_over_than_a_process_downloads_and_a_seller_may_have() {
    let shop = Shop::open().await;
    let server = Server::start_with(|command| {
        command.args(["--allow-private-addresses", "127.0.0.0/8"]);
        command.env("DVOR_FEEDS__DOWNLOADS", "1").env("DVOR_FEEDS__MAX_NAMESPACES", "2");
    });
    let collected = json!({"profile": {}, "offers": [
        {"url": "https://other.example/1", "title": "Диван", "category": "Диваны", "price": "1", "address": "Казань"},
    ]});
    shop.lay("/ready", &collected.to_string(), "\"1\"");
    let rest = shop.lay_slow("/slow");
    let (ready, slow) = (shop.url("/ready"), shop.url("/slow"));

    // One is being downloaded: another is told to come again, and nothing is made of it.
    let meanwhile = async {
        wait_for("the first download", || shop.calls("/slow").pop()).await;
        let (status, refused) = hand_over(&server, "second", &ready).await;
        assert_eq!((status.as_u16(), problem(&refused)), (429, "quota_downloads"), "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains("try again later"), "{refused}");
        assert!(shop.calls("/ready").is_empty(), "its file is not even asked for");
        rest.send(collected.to_string()).unwrap();
    };
    let (first, ()) = tokio::join!(hand_over(&server, "first", &slow), meanwhile);
    assert_eq!(first.0, 202, "{}", first.1);
    assert_eq!(Feed::of(&server, "parsed:second").call(Method::GET, "", None).await.0, 404);

    // Its place is free again, until the seller has as many feeds as he may.
    let second = hand_over(&server, "second", &ready).await;
    assert_eq!(second.0, 202, "{}", second.1);
    let (status, refused) = hand_over(&server, "third", &ready).await;
    assert_eq!((status.as_u16(), problem(&refused)), (429, "quota_namespaces"), "{refused}");
    assert_eq!(Feed::of(&server, "parsed:third").call(Method::GET, "", None).await.0, 404);
    for (namespace, created) in [("parsed:first", 1), ("parsed:second", 1)] {
        let load = Feed::of(&server, namespace).ended("1").await;
        assert_eq!((&load["status"], &load["statistics"]["created"]), (&json!("succeeded"), &json!(created)));
    }
}

#[tokio::test]
async fn an_upload_whose_sender_falls_silent_is_broken_off_and_leaves_nothing() {
    let server = Server::start_with(|command| {
        command.env("DVOR_FEEDS__IDLE_TIMEOUT_MS", "1500");
    });
    let feed = Feed::of(&server, "default");
    // More than is kept in memory while it comes; behind it nothing comes, nor an end.
    let begin = goods((0..5_000).map(|id| (id, 5)));
    assert!(begin.len() > 512 << 10);
    let first = futures::stream::iter([Ok::<_, std::io::Error>(begin)]);
    let body = reqwest::Body::wrap_stream(first.chain(futures::stream::pending()));
    let silent = server.request(Method::POST, "/v1/sellers/shop/feeds/default/uploads").body(body);
    let incoming = server.data.path().join("incoming");
    let (refused, ()) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(60), answer(silent)),
        wait_for("the begin of the upload", || (files_in(&incoming) > 0).then_some(())),
    );
    let (status, refused) = refused.expect("the server does not wait for ever");
    assert_eq!((status.as_u16(), problem(&refused)), (400, "bad_request"), "{refused}");
    assert!(refused["detail"].as_str().unwrap().ends_with("nothing came for 1.5 s"), "{refused}");

    // No load, no feed, no file, neither here nor in the store of files.
    assert_eq!(feed.call(Method::GET, "", None).await.0, 404);
    wait_for("the end of the temp file", || (files_in(&incoming) == 0).then_some(())).await;
    assert_eq!(files_in(&server.data.path().join("files")), 0);
    // And nothing that stands in the way of the next one, which is the first load of the feed.
    let load = feed.load(&goods([(1, 100)])).await;
    assert_eq!((&load["task_id"], &load["status"]), (&json!("1"), &json!("succeeded")), "{load}");
    assert!(files_in(&server.data.path().join("files")) > 0, "this is where files are");
}

/// Files below a folder, at any depth.
fn files_in(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { files_in(&entry.path()) } else { 1 }).sum()
}
