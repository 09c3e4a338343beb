//! A feed's life over loopback HTTP: fetched now and by its period, unchanged, changed, made manual, removed.

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Feed, goods, problem, server, wait_for};
use super::shop::Shop;
use crate::program::until;

/// Version and price of each offer of the feed.
async fn versions(feed: &Feed<'_>) -> Vec<(String, i64)> {
    let own = |offer: &Value| offer["origin"]["namespace"] == feed.namespace;
    let mut found: Vec<_> = feed
        .all_offers()
        .await
        .into_iter()
        .filter(own)
        .map(|offer| {
            (offer["origin"]["external_id"].as_str().unwrap().to_owned(), offer["version"].as_i64().unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Asks for a fetch and waits for what it brings.
async fn fetched(feed: &Feed<'_>, task_id: &str) -> Value {
    feed.post("/fetch", 202).await;
    feed.until("/tasks?limit=1", |page| page["items"][0]["task_id"] == task_id).await;
    feed.ended(task_id).await
}

#[tokio::test]
async fn a_feed_lives_its_life() {
    let (server, shop) = (server(), Shop::open().await);
    // A predicted price would be a new version that no feed brought.
    let (status, paused) = server.post("/v1/stages/price/pause", json!(null)).await;
    assert_eq!(status, 200, "{paused}");
    let (feed, other) = (Feed::of(&server, "default"), Feed::of(&server, "second"));
    // Another namespace with the same ids, which nothing below may touch.
    other.load(&goods([(1, 7), (2, 7), (3, 7)])).await;
    let others = versions(&other).await;

    // Made, it is fetched at once; the second time its tag says that nothing changed.
    shop.lay("/goods", &goods([(1, 100), (2, 200), (3, 300), (4, 400)]), "\"a\"");
    let settings = json!({"url": shop.url("/goods"), "period_minutes": 1, "on_missing": "delete"});
    feed.put(settings.clone()).await;
    feed.until("/tasks?limit=1", |page| page["items"].get(0).is_some()).await;
    let first = feed.ended("1").await;
    assert_eq!((&first["source"], &first["statistics"]["created"]), (&json!("url"), &json!(4)), "{first}");
    assert_eq!(problem(&feed.upload(&goods([(1, 1)])).await.1), "fetched_by_url");
    let same = fetched(&feed, "2").await;
    assert_eq!((&same["status"], &same["statistics"]["total"]), (&json!("unchanged"), &json!(0)), "{same}");
    assert_eq!(shop.calls("/goods")[1].answer, 304);

    // Changed: exactly the changed offer changes, and the one that is gone goes.
    let before = versions(&feed).await;
    shop.lay("/goods", &goods([(1, 100), (2, 250), (3, 300), (5, 500)]), "\"b\"");
    let changed = fetched(&feed, "3").await;
    let found = &changed["statistics"];
    let counts = ["created", "updated", "unchanged", "deleted", "made_manual"]
        .map(|name| found[name].as_i64().unwrap());
    assert_eq!(counts, [1, 1, 2, 1, 0], "{changed}");
    let after = versions(&feed).await;
    assert_eq!(feed.offers().await.keys().collect::<Vec<_>>(), ["1", "2", "3", "5"]);
    let same_version = |id: usize| before[id] == after[id];
    assert_eq!(
        [same_version(0), same_version(1), same_version(2)],
        [true, false, true],
        "{before:?} {after:?}"
    );

    // With the other choice what is gone becomes manual.
    feed.put(json!({"url": shop.url("/goods"), "period_minutes": 1, "on_missing": "make_manual"})).await;
    shop.lay("/goods", &goods([(1, 100), (2, 250), (3, 300)]), "\"c\"");
    let manual = fetched(&feed, "4").await;
    assert_eq!(
        (&manual["statistics"]["made_manual"], &manual["statistics"]["deleted"]),
        (&json!(1), &json!(0))
    );
    let is_manual = |offer: &&Value| offer["origin"]["kind"] == "manual";
    assert_eq!(feed.all_offers().await.iter().filter(is_manual).count(), 1);

    // Nobody asks, and it is fetched all the same when a minute has passed.
    let asked = shop.calls("/goods").len();
    wait_for("the fetch by its period", || (shop.calls("/goods").len() > asked).then_some(())).await;
    let last = shop.calls("/goods").pop().unwrap();
    assert_eq!((last.method, last.answer.as_u16()), (Method::GET, 304));

    // Removed with its offers; the manual one stays, and so does the other feed.
    assert_eq!(feed.call(Method::DELETE, "?offers=delete", None).await.0, 202);
    until("four offers are left", async || feed.all_offers().await.len() == 4).await;
    assert_eq!(feed.offers().await.len(), 0);
    assert_eq!(versions(&other).await, others, "two namespaces never touch");
}
