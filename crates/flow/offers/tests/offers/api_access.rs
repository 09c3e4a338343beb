//! Another seller's token finds nothing, on every route that the description of the API has.

use axum::http::Method;
use offers::Settings;
use serde_json::json;
use utoipa::openapi::path::HttpMethod;

use crate::api::{Client, phone};
use crate::support::in_memory;

/// Routes that a stranger may call, since what he may not see is left out of the answer.
const OPEN: [(&str, &str); 2] = [("POST", "/v1/offers/lookup"), ("POST", "/v1/drafts")];

#[tokio::test]
async fn another_sellers_token_gets_nowhere() {
    let offers = in_memory(Settings::default());
    let (service, stranger) = (Client::new(&offers, "service"), Client::new(&offers, "seller:other"));
    let stage = Client::new(&offers, "stage:x");
    let offer = service.publish("owner").await;
    let draft = service.post("/v1/drafts/current", json!({"owner": "owner"})).await;
    let draft = draft.body["id"].as_str().unwrap().to_owned();

    let mut asked = 0;
    for (path, item) in offers::api::routes().into_openapi().paths.paths {
        let operations = [
            (HttpMethod::Get, &item.get),
            (HttpMethod::Put, &item.put),
            (HttpMethod::Post, &item.post),
            (HttpMethod::Delete, &item.delete),
            (HttpMethod::Patch, &item.patch),
        ];
        for (method, _) in operations.iter().filter(|(_, operation)| operation.is_some()) {
            let method = match method {
                HttpMethod::Get => Method::GET,
                HttpMethod::Put => Method::PUT,
                HttpMethod::Post => Method::POST,
                HttpMethod::Delete => Method::DELETE,
                _ => Method::PATCH,
            };
            if OPEN.contains(&(method.as_str(), path.as_str())) {
                continue;
            }
            let id = if path.starts_with("/v1/drafts") { &draft } else { &offer };
            let address = path.replace("{id}", id).replace("{seller}", "owner");
            let body = match path.as_str() {
                "/v1/offers" => phone("owner"),
                "/v1/drafts/current" => json!({"owner": "owner"}),
                _ if path.ends_with("/sell") => json!({"where": "here"}),
                _ if path.ends_with("/opinions") => json!({"opinion": "ban"}),
                _ if path.starts_with("/v1/sellers") => json!({"ids": [offer]}),
                _ if method == Method::PUT || method == Method::PATCH => json!({"title": "mine"}),
                _ => json!({}),
            };
            let body = (method != Method::GET).then_some(&body);
            for caller in [&stranger, &stage] {
                let answer = caller.call(method.clone(), &address, &[("if-match", "*")], body).await;
                let status = answer.status.as_u16();
                assert!(matches!(status, 403 | 404), "{method} {path}: {status} {}", answer.body);
            }
            asked += 1;
        }
    }
    assert!(asked >= 18, "{asked} routes");
    let after = service.get(&format!("/v1/offers/{offer}")).await.body;
    assert_eq!((&after["version"], &after["status"]), (&json!(1), &json!("active")), "nothing was changed");
    assert_eq!(service.get(&format!("/v1/drafts/{draft}")).await.body["version"], 1);
}

#[tokio::test]
async fn the_open_routes_show_only_ones_own() {
    let offers = in_memory(Settings::default());
    let (service, stranger) = (Client::new(&offers, "service"), Client::new(&offers, "seller:other"));
    let offer = service.publish("owner").await;
    let found = stranger.post("/v1/offers/lookup", json!({"ids": [offer]})).await.body;
    assert_eq!(found, json!({"items": [], "missing": [offer]}));
    assert_eq!(stranger.post("/v1/drafts", json!({"owner": "owner"})).await.status, 404);
    assert_eq!(stranger.post("/v1/drafts", json!({"owner": "other"})).await.status, 201);
}
