//! What people can do with feeds and loads, over HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Feed, goods, problem, server, wait_for};
use super::shop::Shop;
use crate::program::{Server, answer, eventually};

#[tokio::test]
async fn the_schema_and_the_example_are_served_and_the_example_loads() {
    let server = Server::start();
    let text = async |path: &str| {
        let response = server.request(Method::GET, path).send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &"application/xml".parse().unwrap())
        );
        response.text().await.unwrap()
    };
    assert_eq!(text("/v1/feed.xsd").await, feeds::SCHEMA);
    let example = text("/v1/feed-example.xml").await;
    assert_eq!(example, feeds::EXAMPLE);
    let load = Feed::of(&server, "default").load(&example).await;
    let found = &load["statistics"];
    assert_eq!(
        (&load["status"], &found["created"], &found["errors"]),
        (&json!("succeeded"), &json!(2), &json!(0)),
        "{load}"
    );
}

#[tokio::test]
async fn loads_are_repeated_stopped_and_paused() {
    let server = Server::start();
    let feed = Feed::of(&server, "default");
    assert_eq!(feed.call(Method::GET, "", None).await.0, 404, "there is no feed yet");
    feed.load(&goods([(1, 100), (2, 200)])).await;
    let second = feed.load(&goods([(1, 150), (2, 200)])).await;
    assert_eq!(
        (&second["statistics"]["updated"], &second["statistics"]["unchanged"]),
        (&json!(1), &json!(1))
    );

    // Yesterday's good file again.
    let rerun = feed.post("/tasks/1/rerun", 202).await;
    let rerun = feed.ended(rerun["task_id"].as_str().unwrap()).await;
    let said = (&rerun["source"], &rerun["repeats_task_id"], &rerun["status"]);
    assert_eq!(said, (&json!("rerun"), &json!("1"), &json!("succeeded")), "{rerun}");
    assert_eq!(feed.offers().await["1"], "100.00");
    assert_eq!(feed.post("/tasks/77/rerun", 404).await["status"], 404);
    assert_eq!(problem(&feed.post("/tasks/1/cancel", 409).await), "ended");
    assert_eq!(problem(&feed.post("/tasks/1/confirm", 409).await), "not_held");
    assert_eq!(problem(&feed.post("/fetch", 409).await), "no_url");

    // A long load is stopped; what it did stays, nothing goes on its account, and the next one goes through.
    let (_, long) = feed.upload(&goods((0..30_000).map(|id| (id, 5)))).await;
    let task_id = long["task_id"].as_str().unwrap();
    let stopped = feed.post(&format!("/tasks/{task_id}/cancel"), 200).await;
    assert_eq!(stopped["status"], "cancelled", "{stopped}");
    let next = feed.load(&goods([(1, 100), (2, 200)])).await;
    assert_eq!(feed.get(&format!("/tasks/{task_id}")).await["status"], "cancelled");
    assert!(["succeeded", "needs_confirmation"].contains(&next["status"].as_str().unwrap()), "{next}");

    assert_eq!(feed.post("/pause", 200).await["paused"], true);
    let refused = feed.upload(&goods([(1, 1)])).await;
    assert_eq!((refused.0.as_u16(), problem(&refused.1)), (409, "paused"), "{refused:?}");
    assert_eq!(feed.post("/resume", 200).await["paused"], false);
    assert_eq!(feed.upload(&goods([(1, 100), (2, 200)])).await.0, 202);

    // The history, page by page, newest first.
    let whole = feed.get("/tasks?limit=100").await["items"].as_array().unwrap().clone();
    let mut paged: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = feed.get(&format!("/tasks?limit=2{cursor}")).await;
        paged.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let ids = |loads: &[Value]| -> Vec<Value> { loads.iter().map(|load| load["task_id"].clone()).collect() };
    assert_eq!(ids(&paged), ids(&whole));
    assert_eq!(ids(&whole), ["6", "5", "4", "3", "2", "1"]);
    let bad = feed.call(Method::GET, "/tasks?cursor=x", None).await;
    assert_eq!(bad.0, 422, "{}", bad.1);
}

#[tokio::test]
async fn a_load_that_would_take_too_much_away_is_told_of_and_decided() {
    let (server, shop) = (server(), Shop::open().await);
    let feed = Feed::of(&server, "default");
    let made = feed.put(json!({"webhook_url": shop.url("/hook")})).await;
    let secret = made["webhook_secret"].as_str().unwrap().to_owned();
    assert!(feed.get("").await.get("webhook_secret").is_none(), "it is shown once");
    feed.load(&goods((0..60).map(|id| (id, 10)))).await;
    let held = feed.load(&goods((0..5).map(|id| (id, 11)))).await;
    assert_eq!(held["status"], "needs_confirmation", "{held}");
    assert_eq!(held["held"], json!({"would_go": 55, "live_before": 60}));

    let told = wait_for("the webhook", || shop.calls("/hook").into_iter().next()).await;
    let event: Value = serde_json::from_str(&told.body).unwrap();
    assert_eq!((&event["event"], &event["load"]["would_go"]), (&json!("load_held"), &json!(55)), "{event}");
    assert_eq!((&event["seller_id"], &event["load"]["task_id"]), (&json!("shop"), &json!(2)), "{event}");
    let signed = told.headers["dvor-signature"].to_str().unwrap();
    let seconds = signed.strip_prefix("t=").unwrap().split(',').next().unwrap().parse().unwrap();
    assert_eq!(signed, feeds::webhooks::signature(&secret, seconds, &told.body));

    feed.post("/tasks/2/reject", 202).await;
    assert_eq!(feed.ended("2").await["status"], "rejected");
    let offers = feed.offers().await;
    assert_eq!((offers.len(), offers["4"].as_str(), offers["5"].as_str()), (60, "11.00", "10.00"));

    let held = feed.load(&goods((0..4).map(|id| (id, 12)))).await;
    assert_eq!(held["status"], "needs_confirmation", "{held}");
    feed.post("/tasks/3/confirm", 202).await;
    let done = feed.ended("3").await;
    assert_eq!(
        (&done["status"], &done["statistics"]["deleted"]),
        (&json!("succeeded"), &json!(56)),
        "{done}"
    );
    assert_eq!(feed.offers().await.len(), 4);
    feed.post("/tasks/3/reject", 409).await;

    // A file that is no feed.
    let failed = feed.load("<!doctype html><html></html>").await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("xml_root_unknown")));
    let is_failure = |call: &super::shop::Call| call.body.contains("\"load_failed\"");
    wait_for("the failure's webhook", || shop.calls("/hook").into_iter().find(is_failure)).await;
    assert_eq!(feed.offers().await.len(), 4);
}

#[tokio::test]
async fn services_hand_over_feeds_and_see_their_errors() {
    let (server, shop) = (server(), Shop::open().await);
    server.token("admin");
    let (service, seller) = (server.token("service"), server.token("seller:shop"));
    let collected = json!({"profile": {"name": "Shop"}, "offers": [
        {"url": "https://other.example/1", "title": "Диван угловой", "category": "Диваны", "price": "100", "address": "Казань"},
        {"url": "https://other.example/2", "title": "", "category": "Диваны", "price": "100", "address": "Казань"},
    ]});
    shop.lay("/collected.json", &collected.to_string(), "\"1\"");
    let hand_over = async |token: &str, url: &str| {
        let body = json!({"seller_id": "shop", "file_url": url, "source": "other"});
        answer(server.request(Method::POST, "/v1/parsed-feeds").bearer_auth(token).json(&body)).await
    };
    assert_eq!(hand_over(&seller, &shop.url("/collected.json")).await.0, 403);
    for url in [shop.url("/nothing"), "http://169.254.169.254/x".to_owned(), "ftp://shop.example/".to_owned()]
    {
        let refused = hand_over(&service, &url).await;
        assert_eq!(
            (refused.0.as_u16(), &refused.1["errors"][0]["field"]),
            (422, &json!("file_url")),
            "{url}: {}",
            refused.1
        );
    }
    let (status, load) = hand_over(&service, &shop.url("/collected.json")).await;
    assert_eq!(status, 202, "{load}");
    let of = |token: &str| Feed { token: Some(token.to_owned()), ..Feed::of(&server, "parsed:other") };
    let done = of(&service).ended(load["task_id"].as_str().unwrap()).await;
    let found = (&done["source"], &done["statistics"]["created"], &done["statistics"]["rejected"]);
    assert_eq!(found, (&json!("parsed"), &json!(1), &json!(1)), "{done}");
    let errors = of(&service).get("/tasks/1/errors").await;
    assert_eq!(errors["items"][0]["code"], "required", "{errors}");
    for list in ["errors", "errors.csv", "errors.xlsx"] {
        let hidden = of(&seller).call(Method::GET, &format!("/tasks/1/{list}"), None).await;
        assert_eq!(hidden.0, 404, "{}", hidden.1);
    }
    assert_eq!(of(&seller).upload("x").await.0, 403, "a seller does not load into it");
}

#[tokio::test]
async fn a_feed_goes_as_chosen_and_the_other_stays() {
    let server = Server::start();
    let of = |namespace| Feed::of(&server, namespace);
    for namespace in ["one", "two", "three"] {
        of(namespace).load(&goods([(1, 100), (2, 200)])).await;
    }
    let remove = async |namespace, how: &str| {
        of(namespace).call(Method::DELETE, &format!("?offers={how}"), None).await
    };
    assert_eq!(remove("one", "burn").await.0, 400);
    assert_eq!(remove("one", "delete").await.0, 202);
    assert_eq!(remove("two", "make_manual").await.0, 202);
    assert_eq!(remove("two", "make_manual").await.0, 404, "it is gone");
    // Two of the first feed are gone, two of the second are manual, two of the third are as they were.
    let offers = eventually(async || {
        let offers = of("three").all_offers().await;
        let manual = offers.iter().filter(|offer| offer["origin"]["kind"] == "manual").count();
        if (offers.len(), manual) == (4, 2) { Ok(offers) } else { Err(format!("{offers:?}")) }
    })
    .await;
    assert!(offers.iter().all(|offer| offer["status"] == "active"), "{offers:?}");
    assert_eq!(of("three").offers().await.len(), 2);
    let list = answer(server.request(Method::GET, "/v1/sellers/shop/feeds")).await.1;
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|feed| feed["namespace"].as_str().unwrap()).collect();
    assert_eq!(names, ["three"]);
    // A new feed of the name goes on counting.
    let again = of("one").load(&goods([(1, 100)])).await;
    assert_eq!(again["task_id"], "3", "{again}");
}

#[tokio::test]
async fn another_sellers_token_gets_nowhere() {
    let server = Server::start();
    Feed::of(&server, "default").load(&goods([(1, 100)])).await;
    server.token("admin");
    let stranger = server.token("seller:other");
    let described = server.get_as(&stranger, "/openapi.json").await.1;
    let mut asked = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["tags"] != json!(["feeds"]) || path.starts_with("/v1/feed") {
                continue;
            }
            let address =
                path.replace("{seller}", "shop").replace("{namespace}", "default").replace("{task_id}", "1");
            let query = if method == "delete" { "?offers=delete" } else { "" };
            let method: Method = method.to_uppercase().parse().unwrap();
            let body = match path.as_str() {
                "/v1/parsed-feeds" => {
                    json!({"seller_id": "shop", "file_url": "http://a.example/", "source": "x"})
                }
                _ => json!({}),
            };
            let request = server.request(method.clone(), &format!("{address}{query}")).bearer_auth(&stranger);
            let (status, said) =
                answer(if method == Method::GET { request } else { request.json(&body) }).await;
            assert!(matches!(status.as_u16(), 403 | 404), "{method} {path}: {status} {said}");
            asked += 1;
        }
    }
    assert!(asked >= 17, "{asked} routes");
    let service = server.token("service");
    let feed = Feed { token: Some(service), ..Feed::of(&server, "default") };
    assert_eq!((feed.get("").await["last_task_id"].as_str(), feed.offers().await.len()), (Some("1"), 1));
}
