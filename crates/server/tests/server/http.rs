use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::program::{Server, answer, golden};

#[track_caller]
fn is_problem(found: &(StatusCode, Value), status: u16, name: &str) {
    let (code, body) = found;
    assert_eq!((code.as_u16(), &body["status"]), (status, &Value::from(status)), "{body}");
    assert_eq!(body["type"], format!("urn:dvor:problem:{name}"), "{body}");
    for text in ["title", "detail", "request_id"] {
        assert!(body[text].as_str().is_some_and(|text| !text.is_empty()), "{text} is missing in {body}");
    }
    assert!(body["errors"].is_array(), "{body}");
}

#[tokio::test]
async fn every_failure_is_a_problem() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__BODY_BYTES", "2000");
    });
    assert_eq!(server.get("/healthz").await.1["status"], "ok");
    assert_eq!(server.get("/readyz").await.0, 200);
    is_problem(&server.get("/nothing/here").await, 404, "not_found");
    is_problem(&server.get("/v1/topics/none/records").await, 404, "not_found");
    is_problem(&server.get("/v1/admin/audit?limit=many").await, 400, "bad_request");
    is_problem(&server.get("/v1/admin/audit?limt=5").await, 400, "bad_request");
    is_problem(&server.post("/v1/admin/tokens", serde_json::json!({"name": 5})).await, 422, "invalid");
    is_problem(&server.post("/healthz", Value::Null).await, 405, "method_not_allowed");
    let tokens = || server.request(Method::POST, "/v1/admin/tokens");
    is_problem(&answer(tokens().body("{}")).await, 415, "unsupported_media_type");
    is_problem(
        &answer(tokens().header("content-type", "application/json").body("{")).await,
        400,
        "bad_request",
    );
    let large = format!("{{\"name\":\"{}\"}}", "x".repeat(3000));
    is_problem(
        &answer(tokens().header("content-type", "application/json").body(large)).await,
        413,
        "too_large",
    );
    let refused = server.post("/v1/admin/tokens", serde_json::json!({"name": "n", "scopes": ["root"]})).await;
    is_problem(&refused, 422, "invalid");
    assert_eq!(refused.1["errors"][0]["field"], "scopes");
}

#[tokio::test]
async fn answers_carry_their_request_id_and_speak_the_callers_language() {
    let server = Server::start();
    let own = server.request(Method::GET, "/healthz").header("x-request-id", "call-17").send().await.unwrap();
    assert_eq!(own.headers()["x-request-id"], "call-17");
    let strange = server.request(Method::GET, "/nope").header("x-request-id", "a b\"c").send().await.unwrap();
    assert_eq!(strange.headers()["content-type"], "application/problem+json");
    let id = strange.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!(id.len(), 32);
    assert_eq!(strange.json::<Value>().await.unwrap()["request_id"], id);
    assert!(server.log().contains(&id), "the log does not name the request");

    let russian = answer(server.request(Method::GET, "/nope").header("accept-language", "ru")).await;
    assert_eq!(russian.1["title"], "Такого нет");
    let not_allowed = server.request(Method::DELETE, "/v1/admin/tokens").send().await.unwrap();
    let allowed = not_allowed.headers()["allow"].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
}

#[tokio::test]
async fn the_description_of_the_api_is_the_golden_one() {
    let server = Server::start();
    let text = server.request(Method::GET, "/openapi.json").send().await.unwrap().text().await.unwrap();
    golden("openapi.json", &format!("{text}\n"));
    // Followed to the console.
    let page = server.request(Method::GET, "/").send().await.unwrap();
    assert_eq!((page.url().path(), page.status().as_u16()), ("/console", 200));
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("# HELP dvor_http_requests_total "), "{metrics}");
    assert!(
        metrics.contains("dvor_http_requests_total{method=\"GET\",route=\"/openapi.json\",status=\"200\"} 1"),
        "{metrics}"
    );
}

/// Whoever calls with ever new methods makes no ever new metrics.
#[tokio::test]
async fn methods_that_callers_invent_are_counted_together() {
    let server = Server::start();
    for method in ["BREW", "WHEN"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        assert_eq!(server.request(method, "/healthz").send().await.unwrap().status(), 405);
    }
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    let counted = "dvor_http_requests_total{method=\"other\",route=\"/healthz\",status=\"405\"} 2";
    assert!(metrics.contains(counted) && !metrics.contains("BREW"), "{metrics}");
}
