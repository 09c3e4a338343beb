//! Stages through the whole server: a photo that fails is asked for again, and stages can be listed and paused.

use reqwest::Method;
use serde_json::{Value, json};

use crate::program::{Server, answer, eventually};

#[tokio::test]
async fn a_photo_that_fails_will_be_asked_for_again_and_the_offer_says_when() {
    let server = Server::start();
    let (admin, own, other) = (server.token("admin"), server.token("seller:a"), server.token("seller:b"));
    let offer = json!({
        "seller_id": "a",
        "category": {"id": "smartphones"},
        "title": "iPhone 13",
        "attributes": [{"id": "brand", "value": "Apple"}],
        // No photo is fetched from an address that is not public.
        "photos": [{"url": "http://127.0.0.1:9/photo.jpg"}],
    });
    let (status, offer) =
        answer(server.request(Method::POST, "/v1/offers").bearer_auth(&own).json(&offer)).await;
    assert_eq!(status, 201, "{offer}");
    let path = format!("/v1/offers/{}/stages", offer["id"].as_str().unwrap());
    assert_eq!(server.get_as(&other, &path).await.0, 404);
    let photos = eventually(async || {
        let (_, page) = server.get_as(&own, &path).await;
        let waits = |item: &&Value| item["stage"] == "photos" && item["waits_for"] == "timer";
        page["items"]
            .as_array()
            .and_then(|items| items.iter().find(waits).cloned())
            .ok_or_else(|| page.to_string())
    })
    .await;
    assert!(photos["timer_at"].is_string() && photos["tries"] == 0, "{photos}");
    let (_, stage) = server.get_as(&admin, "/v1/stages/photos").await;
    assert_eq!(
        (&stage["timers"], &stage["waiting"], &stage["parked"]),
        (&json!(1), &json!(0), &json!(0)),
        "{stage}"
    );
}

#[tokio::test]
async fn stages_are_listed_paused_and_resumed_by_admins_alone() {
    let server = Server::start();
    let (admin, service) = (server.token("admin"), server.token("service"));
    let (status, list) = server.get_as(&service, "/v1/stages").await;
    assert_eq!(status, 200, "{list}");
    let ids: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["catalog", "expire", "photo-order", "photos", "price", "video"]);
    let post = async |token: &str, path: &str, body: Value| {
        answer(server.request(Method::POST, path).bearer_auth(token).json(&body)).await
    };
    assert_eq!(post(&service, "/v1/stages/expire/pause", json!(null)).await.0, 403);
    let (status, paused) = post(&admin, "/v1/stages/expire/pause", json!(null)).await;
    assert!(status == 200 && paused["paused_at"].is_string(), "{paused}");
    let (_, resumed) = post(&admin, "/v1/stages/expire/resume", json!(null)).await;
    assert!(resumed["paused_at"].is_null(), "{resumed}");
    let (status, walk) = post(&admin, "/v1/stages/photos/traverse", json!({"offers_per_second": 50})).await;
    assert_eq!((status.as_u16(), &walk["walk"]["offers_per_second"]), (200, &json!(50)), "{walk}");
    assert_eq!(post(&admin, "/v1/stages/expire/traverse", json!({})).await.0, 409);
    assert_eq!(post(&admin, "/v1/stages/nothing/pause", json!(null)).await.0, 404);
    assert_eq!(post(&admin, "/v1/stages/photos/failures/forget", json!(null)).await.0, 404);
    let (status, acted) = post(&admin, "/v1/stages/photos/failures/retry", json!(null)).await;
    assert_eq!((status.as_u16(), &acted["done"]), (200, &json!(0)));
    let (status, failures) = server.get_as(&admin, "/v1/stages/photos/failures?limit=5").await;
    assert_eq!((status.as_u16(), failures), (200, json!({"items": [], "next_cursor": null})));
}
