//! The platform's own use of snippets, through the real program: an offer's cards come with it, follow it and go with it.

use e2e::http::Client;
use e2e::program::Program;
use serde_json::{Value, json};
use servers::Database;

use crate::patience::until;

async fn ask(client: &mut Client, method: &str, path: &str, headers: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers = format!("content-type: application/json\r\n{headers}");
    let answer = client.ask(method, path, &headers, body.as_bytes()).await.unwrap();
    (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
}

async fn cards_follow_an_offer(program: &Program) {
    let mut offers = Client::connect(program.http).await.unwrap();
    let mut cards = Client::connect(program.snippets.unwrap()).await.unwrap();
    let phone = json!({
        "seller_id": "north", "category": {"id": "smartphones"}, "title": "iPhone 13",
        "price": {"amount": "59990.00", "currency": "RUB"},
        "attributes": [{"id": "brand", "value": "Apple"}],
    });
    let (status, offer) = ask(&mut offers, "POST", "/v1/offers", "", &phone).await;
    assert_eq!(status, 201, "{offer}");
    let id = offer["id"].as_str().unwrap().to_owned();
    let mut card = async |language: &str| {
        let path = format!("/offer/{id}/{language}");
        let answer = cards.get(&path).await.unwrap();
        (answer.status, serde_json::from_slice::<Value>(&answer.body).unwrap_or_default())
    };
    until("the offer has cards", async || card("ru").await.0 == 200 && card("en").await.0 == 200).await;
    for (language, status) in [("ru", "в продаже"), ("en", "on sale")] {
        let (_, both) = card(language).await;
        let json = &both["offer/card"];
        assert_eq!(
            (&json["title"], &json["status"]["text"]),
            (&json!("iPhone 13"), &json!(status)),
            "{both}"
        );
        assert_eq!(
            (&json["seller_id"], &json["price"]["amount"]),
            (&json!("north"), &json!("59990.00")),
            "{both}"
        );
        assert!(both["offer/card_pb"].as_str().is_some_and(|text| text.len() > 40), "{both}");
    }

    let path = format!("/v1/offers/{id}");
    let change = json!({"title": "iPhone 13 mini"});
    let (status, changed) = ask(&mut offers, "PATCH", &path, "if-match: \"1\"\r\n", &change).await;
    assert_eq!(status, 200, "{changed}");
    until("the cards follow", async || {
        card("en").await.1["offer/card"]["title"] == "iPhone 13 mini"
            && card("ru").await.1["offer/card"]["version"] == changed["version"]
    })
    .await;
    let (status, deleted) = ask(&mut offers, "POST", &format!("{path}/delete"), "", &Value::Null).await;
    assert_eq!(status, 200, "{deleted}");
    until("the cards go", async || card("ru").await.0 == 404 && card("en").await.0 == 404).await;
    let letters = cards.get("/-/dead-letters").await.unwrap().json().unwrap();
    assert_eq!(letters["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_follow_an_offer_on_the_embedded_engines() {
    let folder = tempfile::tempdir().unwrap();
    cards_follow_an_offer(&Program::start(folder.path(), &[]).unwrap()).await;
}

/// With topics in the database too: the names of Kafka's topics are everybody's.
#[tokio::test(flavor = "multi_thread")]
async fn cards_follow_an_offer_on_postgresql() {
    let Some(database) = Database::create("cards_follow_an_offer_on_postgresql").await else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = Program::start(folder.path(), &["--store", &database.url]).unwrap();
    cards_follow_an_offer(&program).await;
}
