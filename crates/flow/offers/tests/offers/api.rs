//! The routes, called without a network.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use offers::{Offers, Settings};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use web::{Access, Scope};

use crate::kept::run_due;
use crate::support::in_memory;

/// A caller with one scope, as the server's guard would let him in.
pub(crate) struct Client {
    pub(crate) offers: Offers,
    router: Router,
    access: Access,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) etag: Option<String>,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn new(offers: &Offers, scope: &str) -> Self {
        let scope: Scope = scope.parse().unwrap();
        let router: Router<()> = offers::api::routes().with_state(offers.clone()).into();
        Self { offers: offers.clone(), router, access: Access::new("test", vec![scope]) }
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(Body::from(serde_json::to_vec(body).unwrap())),
            None => request.body(Body::empty()),
        };
        let mut request = request.unwrap();
        request.extensions_mut().insert(self.access.clone());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let etag = response.headers().get("etag").map(|value| value.to_str().unwrap().to_owned());
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes).into_owned()));
        Answer { status, etag, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, &[], Some(&body)).await
    }

    pub(crate) async fn patch(&self, id: &str, if_match: &str, body: Value) -> Answer {
        let path = format!("/v1/offers/{id}");
        self.call(Method::PATCH, &path, &[("if-match", if_match)], Some(&body)).await
    }

    /// A new offer's id.
    pub(crate) async fn publish(&self, seller: &str) -> String {
        let made = self.post("/v1/offers", phone(seller)).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.body["id"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn phone(seller: &str) -> Value {
    json!({
        "seller_id": seller,
        "category": {"id": "smartphones"},
        "title": "iPhone 13",
        "price": {"amount": "49990.00", "currency": "RUB"},
        "condition": "used",
        "attributes": [{"id": "brand", "value": "Apple"}, {"id": "storage", "value": 1, "unit": "TB"}],
        "photos": [{"url": "https://shop.example/1.jpg"}],
        "location": {"lat": 55.75, "lon": 37.62, "address": "Москва, Ильинка, 4"},
        "contacts": {"name": "Анна", "phones": ["+7 495 123-45-67"], "email": "a@shop.example"},
        "dimensions": {"length_mm": 147, "width_mm": 72, "height_mm": 8},
        "weight_grams": 174,
    })
}

fn service() -> Client {
    Client::new(&in_memory(Settings::default()), "service")
}

#[track_caller]
pub(crate) fn refused(answer: &Answer, status: u16, name: &str) {
    let kind = answer.body["type"].as_str().unwrap_or_default();
    let expected = format!("urn:dvor:problem:{name}");
    assert_eq!((answer.status.as_u16(), kind), (status, expected.as_str()), "{}", answer.body);
}

#[tokio::test]
async fn an_offer_reads_back_as_it_was_written_and_settled() {
    let client = service();
    let id = client.publish("s1").await;
    let read = client.get(&format!("/v1/offers/{id}")).await;
    assert_eq!((read.status.as_u16(), read.etag.as_deref()), (200, Some("\"1\"")));
    let offer = read.body;
    assert_eq!(offer["category"]["path"], json!(["Electronics", "Phones and communication", "Smartphones"]));
    assert_eq!(offer["attributes"][0]["value"], "apple", "an option is kept by its id");
    assert_eq!(offer["attributes"][1]["value"], 1024, "a number is kept in the attribute's unit");
    assert_eq!(offer["photos"][0]["state"], "waiting");
    assert_eq!(offer["origin"]["kind"], "manual");
    let dashed = format!("{}-{}", &id[..5], &id[5..]);
    assert_eq!(client.get(&format!("/v1/offers/{dashed}")).await.body["id"], offer["id"]);

    // What was read can be sent back, and nothing changes.
    let content: serde_json::Map<_, _> =
        ["category", "attributes", "photos", "location", "contacts", "price"]
            .into_iter()
            .map(|field| (field.to_owned(), offer[field].clone()))
            .collect();
    let same = client.patch(&id, "\"1\"", Value::Object(content)).await;
    assert_eq!((same.status.as_u16(), &same.body["version"]), (200, &json!(1)), "{}", same.body);
}

#[tokio::test]
async fn of_two_patches_from_one_version_one_wins() {
    let client = service();
    let id = client.publish("s1").await;
    let (cheaper, dearer) = (json!({"price": {"amount": "1.00"}}), json!({"price": {"amount": "9.00"}}));
    let (one, other) = tokio::join!(client.patch(&id, "\"1\"", cheaper), client.patch(&id, "\"1\"", dearer));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let path = format!("/v1/offers/{id}");
    refused(&client.call(Method::PATCH, &path, &[], Some(&json!({}))).await, 428, "precondition_required");
    refused(&client.patch(&id, "three", json!({})).await, 400, "bad_request");
    let forced = client.patch(&id, "*", json!({"price": null, "description": "d"})).await;
    assert_eq!((&forced.body["price"], &forced.body["version"]), (&Value::Null, &json!(3)));
    assert_eq!(forced.etag.as_deref(), Some("\"3\""));
}

#[tokio::test]
async fn what_cannot_be_an_offer_is_refused_with_its_field() {
    let client = service();
    let check = async |change: Value, status: u16, field: &str, code: &str| {
        let mut body = phone("s1");
        for (name, value) in change.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = client.post("/v1/offers", body).await;
        let error = &answer.body["errors"][0];
        assert_eq!(answer.status.as_u16(), status, "{change}: {}", answer.body);
        assert_eq!((error["field"].as_str(), error["code"].as_str()), (Some(field), Some(code)), "{change}");
    };
    check(json!({"colour": "red"}), 422, "colour", "unknown_field").await;
    check(json!({"location": {"latitude": 1}}), 422, "location.latitude", "unknown_field").await;
    check(json!({"title": 5}), 422, "title", "wrong_type").await;
    check(json!({"photos": [{"url": 5}]}), 422, "photos.0.url", "wrong_type").await;
    check(json!({"price": {"amount": "1"}}), 422, "price.currency", "required").await;
    check(json!({"price": {"amount": "-1", "currency": "RUB"}}), 422, "price.amount", "bad_amount").await;
    check(json!({"condition": "broken"}), 422, "condition", "wrong_type").await;
    check(json!({"category": {"id": "no-such-category"}}), 422, "category", "category_unknown").await;
    check(json!({"attributes": []}), 422, "attributes.brand", "attribute_required").await;
    check(json!({"seller_id": 5}), 422, "seller_id", "wrong_type").await;
    check(json!({"seller_id": "a\nb"}), 422, "seller_id", "bad_seller").await;

    let mut large = phone("s1");
    large["description"] = Value::from("я".repeat(49_000));
    large["vendor"] = Value::from("x".repeat(200));
    large["photos"] =
        (0..30).map(|n| json!({"url": format!("https://a.example/{n}{}", "x".repeat(300))})).collect();
    let answer = client.post("/v1/offers", large).await;
    refused(&answer, 413, "too_large");
    assert!(answer.body["detail"].as_str().unwrap().contains("at most 102400"), "{}", answer.body);

    let broken = client.get("/v1/offers/12345678901234567").await;
    refused(&broken, 400, "bad_offer_id");
    assert!(broken.body["detail"].as_str().unwrap().contains("check digit"), "{}", broken.body);
    for bad in ["/v1/offers/x", "/v1/offers/%00", "/v1/offers/%F0%9F%98%80", "/v1/offers/1"] {
        assert_eq!(client.get(bad).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn one_byte_over_the_limit_is_too_large() {
    let client = service();
    let sized = |tail: usize| {
        let mut body = phone("s1");
        body["description"] = Value::from("я".repeat(45_000) + &"x".repeat(tail));
        body["photos"] =
            (0..30).map(|n| json!({"url": format!("https://a.example/{n:02}{}", "x".repeat(300))})).collect();
        body
    };
    // The refusal tells the size, from which the exact limit is found.
    let answer = client.post("/v1/offers", sized(4_000)).await;
    refused(&answer, 413, "too_large");
    let bytes = answer.body["detail"].as_str().unwrap().split_whitespace().find_map(|word| word.parse().ok());
    let exact = 4_000 - (bytes.unwrap_or(0_usize) - 102_400);
    let over = client.post("/v1/offers", sized(exact + 1)).await;
    refused(&over, 413, "too_large");
    assert!(over.body["detail"].as_str().unwrap().contains("102401 bytes"), "{}", over.body);
    let fits = client.post("/v1/offers", sized(exact)).await;
    assert_eq!(fits.status, 201, "{}", fits.body);
}

#[tokio::test]
async fn verbs_move_and_illegal_ones_name_both_states() {
    let client = service();
    let id = client.publish("s1").await;
    let act = async |verb: &str| {
        let answer = client.call(Method::POST, &format!("/v1/offers/{id}/{verb}"), &[], None).await;
        (answer.status.as_u16(), answer.body["status"].clone())
    };
    assert_eq!(act("withdraw").await, (200, json!("inactive")));
    assert_eq!(act("withdraw").await, (200, json!("inactive")), "a second time changes nothing");
    assert_eq!(act("activate").await, (200, json!("active")));
    assert_eq!(act("prolong").await, (200, json!("active")));
    let sold = client.post(&format!("/v1/offers/{id}/sell"), json!({"where": "here"})).await;
    assert_eq!(sold.body["status"], "sold_here");
    let illegal = client.call(Method::POST, &format!("/v1/offers/{id}/withdraw"), &[], None).await;
    refused(&illegal, 409, "illegal_move");
    let detail = illegal.body["detail"].as_str().unwrap();
    assert!(detail.contains("sold_here") && detail.contains("inactive"), "{detail}");
    refused(&client.post(&format!("/v1/offers/{id}/sell"), json!({"where": "there"})).await, 422, "invalid");
    let counters = client.get("/v1/sellers/s1/counters").await.body;
    assert_eq!(counters["money_earned"], json!([{"amount": "49990.00", "currency": "RUB"}]));
    assert_eq!(act("delete").await, (200, json!("deleted")));
    refused(&client.patch(&id, "*", json!({"title": "x"})).await, 404, "not_found");
}

#[tokio::test]
async fn lists_page_by_cursor_and_look_up_crosses_shards() {
    let client = service();
    let mut ids = Vec::new();
    for number in 0..7 {
        ids.push(client.publish(if number % 2 == 0 { "s1" } else { "s2" }).await);
        client.offers.clock.advance(std::time::Duration::from_secs(1));
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/v1/sellers/s1/offers?limit=3&preset=active{cursor}")).await.body;
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|offer| offer["id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let mine: Vec<_> = ids.iter().step_by(2).rev().cloned().collect();
    assert_eq!(seen, mine, "newest first, each once");

    let stranger = model::OfferId::new(5, 5).to_string();
    let asked: Vec<_> = ids.iter().chain([&stranger, &ids[0]]).collect();
    let found = client.post("/v1/offers/lookup", json!({"ids": asked})).await.body;
    assert_eq!(found["items"].as_array().unwrap().len(), 7);
    assert_eq!(found["missing"], json!([stranger]));
    let own =
        Client::new(&client.offers, "seller:s1").post("/v1/offers/lookup", json!({"ids": ids})).await.body;
    assert_eq!(own["missing"].as_array().unwrap().len(), 3, "{own}");
    refused(&client.post("/v1/offers/lookup", json!({"ids": vec!["1"; 501]})).await, 422, "invalid");
    let broken = client.post("/v1/offers/lookup", json!({"ids": [ids[0], "x"]})).await;
    assert_eq!(broken.body["errors"][0]["field"], "ids.1");

    for (query, field) in [
        ("preset=some", "preset"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("cursor=x", "cursor"),
        ("namespace=default", "namespace"),
        ("external_id=1&namespace=BAD", "namespace"),
    ] {
        let answer = client.get(&format!("/v1/sellers/s1/offers?{query}")).await;
        refused(&answer, 422, "invalid");
        assert_eq!(answer.body["errors"][0]["field"], field, "{query}");
    }
    let none = client.get("/v1/sellers/s1/offers?external_id=1").await;
    assert_eq!((none.status.as_u16(), &none.body["items"]), (200, &json!([])));
}

#[tokio::test]
async fn many_at_once_are_answered_one_by_one() {
    let client = service();
    let (a, b) = (client.publish("s1").await, client.publish("s1").await);
    let other = client.publish("s2").await;
    client.post(&format!("/v1/offers/{b}/sell"), json!({"where": "elsewhere"})).await;
    let ids = json!({"ids": [a, b, other, a]});
    let done = client.post("/v1/sellers/s1/offers/withdraw", ids).await;
    let results: Vec<_> = done.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["error"]["code"].as_str().unwrap_or_else(|| item["status"].as_str().unwrap()))
        .collect();
    assert_eq!(results, ["inactive", "illegal_move", "not_found", "inactive"], "{}", done.body);
    let presets = client.get("/v1/sellers/s1/presets").await.body;
    let count = |name: &str| {
        let items = presets["items"].as_array().unwrap();
        items.iter().find(|item| item["preset"] == name).unwrap()["count"].as_i64().unwrap()
    };
    assert_eq!((count("all"), count("inactive"), count("sold"), count("active")), (2, 1, 1, 0));
    assert_eq!(client.get(&format!("/v1/offers/{other}")).await.body["status"], "active");
}

#[tokio::test]
async fn opinions_ban_and_early_ones_wait() {
    let client = service();
    let id = client.publish("s1").await;
    let path = format!("/v1/offers/{id}/opinions");
    let opinion = |verdict: &str, at: &str| json!({"opinion": verdict, "reasons": ["fake"], "text": "no", "timestamp": at});
    let banned = client.post(&path, opinion("ban", "2026-10-02T00:00:00Z")).await;
    assert_eq!(
        (&banned.body["effect"], &banned.body["offer"]["status"]),
        (&json!("applied"), &json!("banned"))
    );
    let late = client.post(&path, opinion("unban", "2026-10-01T00:00:00Z")).await;
    assert_eq!(late.body["effect"], "older");
    assert_eq!(client.get(&format!("/v1/offers/{id}")).await.body["ban_reasons"], json!(["fake"]));
    let lifted = client.post(&path, opinion("unban", "2026-10-03T00:00:00Z")).await;
    assert_eq!(lifted.body["offer"]["status"], "active");
    let unknown = model::OfferId::new(7, 7).to_string();
    let early =
        client.post(&format!("/v1/offers/{unknown}/opinions"), opinion("ban", "2026-10-01T00:00:00Z")).await;
    assert_eq!((early.status.as_u16(), &early.body["effect"]), (202, &json!("early")));
    refused(&client.post(&path, json!({"opinion": "maybe"})).await, 422, "invalid");
    refused(&client.post(&path, opinion("ban", "yesterday")).await, 422, "invalid");
    let own = Client::new(&client.offers, "seller:s1").post(&path, json!({"opinion": "unban"})).await;
    refused(&own, 403, "forbidden");

    let events = client.get(&format!("/v1/offers/{id}/events?limit=2")).await.body;
    let reasons = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|event| event["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons(&events), ["unban", "ban"]);
    assert_eq!(events["items"][0]["fields"][0], json!({"path": "status", "from": "banned", "to": "active"}));
    let cursor = events["next_cursor"].as_str().unwrap();
    let rest = client.get(&format!("/v1/offers/{id}/events?limit=2&cursor={cursor}")).await.body;
    assert_eq!((reasons(&rest), &rest["next_cursor"]), (vec!["created".to_owned()], &Value::Null));
}

#[tokio::test]
async fn a_key_makes_one_offer() {
    let client = service();
    let create = async |key: &str, body: &Value| {
        client.call(Method::POST, "/v1/offers", &[("idempotency-key", key)], Some(body)).await
    };
    let (first, again) = (create("k1", &phone("s1")).await, create("k1", &phone("s1")).await);
    assert_eq!((again.status.as_u16(), &again.body["id"]), (201, &first.body["id"]));
    assert_ne!(create("k2", &phone("s1")).await.body["id"], first.body["id"]);
    let mut other = phone("s1");
    other["title"] = json!("iPhone 14");
    refused(&create("k1", &other).await, 422, "idempotency_key_reused");
    refused(&create("", &other).await, 400, "bad_request");
    // A refused call leaves its key free.
    assert_eq!(create("k3", &json!({"seller_id": "s1"})).await.status, 422);
    assert_eq!(create("k3", &other).await.status, 201);
    client.offers.clock.advance(std::time::Duration::from_secs(86_401));
    let shards: Vec<_> = store::Shard::all().collect();
    for shard in shards {
        run_due(&client.offers, offers::forget::Forgotten, shard).await.unwrap();
    }
    assert_ne!(create("k1", &phone("s1")).await.body["id"], first.body["id"], "a day later it is a new call");
}
