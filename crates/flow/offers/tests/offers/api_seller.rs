//! The routes over offers that a feed made, and over all of a seller.

use axum::http::Method;
use offers::erase::SellerErasures;
use offers::{Offers, Settings};
use serde_json::{Value, json};
use store::{Shard, Tx};

use crate::api::{Client, refused};
use crate::feed::{Feed, SELLER, record};
use crate::kept::{Engine, keep, run_due};
use crate::support::in_memory;

/// The id of an offer that a feed made.
async fn fed(client: &Client, external_id: &str) -> String {
    let found = client.get(&format!("/v1/sellers/{SELLER}/offers?external_id={external_id}")).await;
    assert_eq!(found.status, 200, "{}", found.body);
    let items = found.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{}", found.body);
    items[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_a_feed_owns_is_changed_in_the_feed() {
    let offers = in_memory(Settings::default());
    Feed::new(&offers).load(1, vec![record("sku-1", 1)]).await;
    Feed::in_namespace(&offers, "summer").load(1, vec![record("sku-1", 2)]).await;
    let client = Client::new(&offers, &format!("seller:{SELLER}"));
    let id = fed(&client, "sku-1").await;
    let other = fed(&client, "sku-1&namespace=summer").await;
    assert_ne!(id, other, "the same id in two namespaces is two offers");

    let offer = client.get(&format!("/v1/offers/{id}")).await.body;
    let origin =
        json!({"kind": "feed", "namespace": "default", "external_id": "sku-1", "task_id": 1, "line": 1});
    assert_eq!(offer["origin"], origin);
    let edited = client.patch(&id, "*", json!({"title": "mine"})).await;
    refused(&edited, 409, "managed_by_feed");
    assert!(edited.body["detail"].as_str().unwrap().contains("default"), "{}", edited.body);
    // The seller's own are his even so.
    let withdrawn = client.call(Method::POST, &format!("/v1/offers/{id}/withdraw"), &[], None).await;
    assert_eq!(withdrawn.body["status"], "inactive", "{}", withdrawn.body);
}

#[tokio::test]
async fn a_call_under_way_is_not_begun_twice() {
    let offers = in_memory(Settings::default());
    let client = Client::new(&offers, "service");
    let draft = client.post("/v1/drafts", json!({"owner": "s1"})).await.body;
    let path = format!("/v1/drafts/{}", draft["id"].as_str().unwrap());
    let content = crate::api::phone("s1");
    let content: serde_json::Map<_, _> =
        content.as_object().unwrap().clone().into_iter().filter(|(name, _)| name != "seller_id").collect();
    let put = client.call(Method::PUT, &path, &[("if-match", "*")], Some(&Value::Object(content))).await;
    assert_eq!(put.status, 200, "{}", put.body);
    let publish = async || {
        let body = json!({"owner": "s1"});
        let headers = [("idempotency-key", "once")];
        client.call(Method::POST, &format!("{path}/publish"), &headers, Some(&body)).await
    };
    let (one, two) = tokio::join!(publish(), publish());
    let made: Vec<_> = [&one, &two].into_iter().filter(|answer| answer.status.is_success()).collect();
    assert!(!made.is_empty(), "{} {}", one.body, two.body);
    for answer in [&one, &two] {
        match answer.status.as_u16() {
            201 | 200 => assert_eq!(answer.body["id"], made[0].body["id"]),
            _ => refused(answer, 409, "idempotency_running"),
        }
    }
    let again = publish().await;
    assert_eq!(again.body["id"], made[0].body["id"], "{}", again.body);
    let count = client.get("/v1/sellers/s1/presets").await.body["items"][0]["count"].clone();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn an_export_gives_every_offer_as_reading_it_does() {
    let offers = in_memory(Settings::default());
    let client = Client::new(&offers, "service");
    let ids = [client.publish("s1").await, client.publish("s1").await];
    client.publish("s2").await;
    client.call(Method::POST, &format!("/v1/offers/{}/delete", ids[1]), &[], None).await;
    let own = Client::new(&offers, "seller:s1");
    let mut exported: Vec<Value> = lines(&own.get("/v1/sellers/s1/export").await.body);
    exported.sort_by_key(|offer| offer["status"].as_str().unwrap().to_owned());
    assert_eq!(exported.len(), 2);
    assert_eq!(exported[0], client.get(&format!("/v1/offers/{}", ids[0])).await.body);
    assert_eq!((&exported[1]["id"], &exported[1]["status"]), (&json!(ids[1]), &json!("deleted")));
}

/// JSON Lines; one line alone was read as JSON already.
fn lines(body: &Value) -> Vec<Value> {
    match body {
        Value::String(text) => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        one => vec![one.clone()],
    }
}

#[tokio::test]
async fn an_erased_seller_is_gone_from_every_answer() {
    let kept = keep(Engine::Memory, Settings::default()).await;
    let client = Client::new(&kept.offers, "service");
    let (id, other) = (client.publish("s1").await, client.publish("s2").await);
    let own = Client::new(&kept.offers, "seller:s1");
    refused(&own.get("/v1/sellers/s1/erasure").await, 404, "not_found");
    let asked = own.call(Method::DELETE, "/v1/sellers/s1", &[], None).await;
    assert_eq!((asked.status.as_u16(), &asked.body["state"]), (202, &json!("offers")));
    let again = own.call(Method::DELETE, "/v1/sellers/s1", &[], None).await;
    assert_eq!(again.body["asked_at"], asked.body["asked_at"], "the same wish");
    run_due(&kept.offers, SellerErasures, Shard::of("s1")).await.unwrap();
    let done = own.get("/v1/sellers/s1/erasure").await.body;
    assert_eq!((&done["state"], &done["offers"]), (&json!("done"), &json!(1)), "{done}");
    refused(&client.get(&format!("/v1/offers/{id}")).await, 404, "not_found");
    assert_eq!(client.get("/v1/sellers/s1/offers").await.body["items"], json!([]));
    assert_eq!(lines(&own.get("/v1/sellers/s1/export").await.body), [] as [Value; 0]);
    assert_eq!(client.get(&format!("/v1/offers/{other}")).await.status, 200);
    refused(&client.call(Method::DELETE, "/v1/sellers/a%00b", &[], None).await, 422, "invalid");
}

/// Makes a length wrong.
async fn drift(offers: &Offers) {
    let hurt = async |tx: &mut Tx| {
        tx.put(&offers::tables::PRESETS_COUNT, ("s1", offers::Preset::All.id()), &77)?;
        Ok::<_, offers::Error>(())
    };
    offers.store.transact(Shard::of("s1"), hurt).await.unwrap();
}

#[tokio::test]
async fn fsck_by_http_looks_first_and_then_repairs() {
    let offers = in_memory(Settings::default());
    let service = Client::new(&offers, "service");
    service.publish("s1").await;
    let admin = Client::new(&offers, "admin");
    refused(&service.post("/v1/admin/fsck", json!({})).await, 403, "forbidden");
    drift(&offers).await;
    let look = admin.post("/v1/admin/fsck", json!({"dry_run": true, "seller": "s1"})).await.body;
    assert_eq!(
        (&look["clean"], &look["repaired"], &look["wrong_numbers"]),
        (&json!(false), &json!(false), &json!(1))
    );
    let mended = admin.post("/v1/admin/fsck", json!({})).await.body;
    assert_eq!((&mended["clean"], &mended["repaired"]), (&json!(false), &json!(true)), "{mended}");
    let clean = admin.post("/v1/admin/fsck", json!({})).await.body;
    assert_eq!((&clean["clean"], &clean["offers"]), (&json!(true), &json!(1)), "{clean}");
    assert_eq!(service.get("/v1/sellers/s1/presets").await.body["items"][0]["count"], 1);
    assert!(admin.post("/v1/admin/fsck", json!({"sellers": "s1"})).await.status.is_client_error());
}
