//! From a feed to gold through the whole program: a mapped seller's file becomes offers, united offers, silver and gold.

use reqwest::Method;
use serde_json::{Value, json};

use crate::program::{Server, answer, eventually};

fn line(weight: &str, price: &str) -> String {
    json!({"id": "sofa-1", "title": "Диван угловой", "category": "Диваны", "price": price,
        "address": "Москва", "weight": {"value": weight, "unit": "kg"}})
    .to_string()
        + "\n"
}

fn upload(server: &Server, text: &str) {
    let file = server.data.path().join("goods.jsonl");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let said = server.command(&["feed", "upload", file, "--seller", "north", "--json", "--watch"]);
    assert_eq!(said.code, 0, "{said:?}\n{}", server.log());
    assert_eq!(said.json()["status"], "succeeded", "{said:?}");
}

async fn gold_weight(server: &Server, admin: &str, milligrams: i64) -> Value {
    eventually(async || {
        let (status, gold) = server.get_as(admin, "/v1/gold/7/sofa-1").await;
        let values = gold["values"].as_array().cloned().unwrap_or_default();
        let weight = values.into_iter().find(|value| value["parameter"] == "weight");
        weight
            .filter(|weight| weight["values"] == json!([milligrams]))
            .ok_or_else(|| format!("{status} {gold}"))
    })
    .await
}

async fn shipments(server: &Server, admin: &str) -> usize {
    let records = server.get_as(admin, "/v1/topics/united.offers/records?limit=100").await.1;
    records["items"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_feed_of_a_mapped_seller_becomes_gold() {
    let server = Server::start();
    let (admin, seller) = (server.token("admin"), server.token("seller:north"));
    // What was there before the mapping is found by the walk.
    upload(&server, &line("30", "15000"));
    let shop = "/v1/businesses/7/shops/1";
    let body = json!({"seller_id": "north", "colour": "BLUE"});
    assert_eq!(answer(server.request(Method::PUT, shop).bearer_auth(&seller).json(&body)).await.0, 403);
    let (status, mapped) = answer(server.request(Method::PUT, shop).bearer_auth(&admin).json(&body)).await;
    assert_eq!((status.as_u16(), &mapped["mapped"]), (200, &json!(true)), "{mapped}");
    let weight = gold_weight(&server, &admin, 30_000_000).await;
    assert_eq!(weight["candidates"][0]["shop_id"], 1, "{weight}");
    assert_eq!(shipments(&server, &admin).await, 1);

    // A price is no trigger; a weight is.
    upload(&server, &line("30", "14000"));
    upload(&server, &line("31", "14000"));
    gold_weight(&server, &admin, 31_000_000).await;
    assert_eq!(shipments(&server, &admin).await, 2);
    let (_, united) = server.get_as(&admin, "/v1/united/7/sofa-1").await;
    assert_eq!(united["service"]["1"]["price"]["minor"], "1400000", "{united}");
    let named =
        united["basic"]["content"]["master_data"]["parameter"].as_array().cloned().unwrap_or_default();
    assert!(named.iter().any(|parameter| parameter["name"] == "weight"), "{united}");
    let (_, silver) = server.get_as(&admin, "/v1/silver/7/sofa-1").await;
    assert_eq!((&silver["shops"], &silver["records"][0]["source_type"]), (&json!([1]), &json!("SUPPLIER")));
    let explained = server.command(&["silver", "explain", "7", "sofa-1"]);
    assert_eq!(explained.code, 0, "{explained:?}");
    let explained = explained.json();
    assert_eq!(explained["silver"]["shops"], json!([1]), "{explained}");
    assert!(explained["gold"]["values"][0]["reason"].is_string() && explained["united"]["basic"].is_object());
    let steps = explained["steps"].as_array().cloned().unwrap_or_default();
    assert!(steps.iter().all(|step| step["why"].as_str().is_some_and(|why| !why.is_empty())), "{steps:?}");
    assert_eq!(steps.last().map(|step| step["outcome"].clone()), Some(json!("repeated")), "{steps:?}");

    // What happened is counted, over all processes.
    let (_, stats) = server.get_as(&admin, "/v1/united/stats").await;
    let fields = stats["fields"].as_array().cloned().unwrap_or_default();
    let of = |field: &str| fields.iter().find(|known| known["field"] == field).cloned().unwrap_or_default();
    assert_eq!(of("new")["shipments"], 1, "{stats}");
    assert_eq!(of("content.partner.original.weight")["shipments"], 1, "{stats}");
    assert_eq!((&stats["shipments"], &of("price")), (&json!(2), &Value::Null), "{stats}");
    let (_, stats) = server.get_as(&admin, "/v1/silver/stats?hours=1").await;
    let saved = stats["steps"].as_array().cloned().unwrap_or_default();
    let saved = saved.into_iter().find(|step| step["step"] == "save" && step["outcome"] == "saved");
    assert_eq!(saved.map(|step| step["offers"].clone()), Some(json!(2)), "{stats}");
    assert_eq!(server.get_as(&admin, "/v1/silver/stats?hours=48").await.0, 422);

    // The shop goes, and with it what it had.
    let (status, _) = answer(server.request(Method::DELETE, shop).bearer_auth(&admin)).await;
    assert_eq!(status, 204);
    eventually(async || {
        let (status, gold) = server.get_as(&admin, "/v1/gold/7/sofa-1").await;
        if status == 404 { Ok(()) } else { Err(gold.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn settings_have_types_versions_and_a_history() {
    let server = Server::start();
    let (admin, service) = (server.token("admin"), server.token("service"));
    let path = "/v1/settings/silver.dbs_mode";
    let put = async |token: &str, value: Value| {
        answer(server.request(Method::PUT, path).bearer_auth(token).json(&value)).await
    };
    assert_eq!(put(&service, json!("BLUE_AND_SOME_DBS")).await.0, 403);
    assert_eq!(put(&admin, json!("GREEN")).await.0, 422);
    let (status, set) = put(&admin, json!("BLUE_AND_SOME_DBS")).await;
    assert_eq!((status.as_u16(), &set["version"]), (200, &json!(1)), "{set}");
    let history = server.get_as(&service, "/v1/settings/silver.dbs_mode/history").await.1;
    assert_eq!(history["items"].as_array().map(Vec::len), Some(1), "{history}");
    assert_eq!(server.get_as(&service, "/v1/settings/silver.unknown").await.0, 404);
}

async fn export(server: &Server, token: &str) -> Vec<Value> {
    let answer =
        server.request(Method::GET, "/v1/sellers/north/export").bearer_auth(token).send().await.unwrap();
    let text = answer.text().await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_sellers_export_has_master_data_and_erasure_reaches_it() {
    let server = Server::start();
    let (admin, seller) = (server.token("admin"), server.token("seller:north"));
    let body = json!({"seller_id": "north", "colour": "BLUE"});
    let map = server.request(Method::PUT, "/v1/businesses/7/shops/1").bearer_auth(&admin).json(&body);
    assert_eq!(answer(map).await.0, 200);
    upload(&server, &line("30", "15000"));
    gold_weight(&server, &admin, 30_000_000).await;
    let lines = export(&server, &seller).await;
    assert_eq!(lines.len(), 2, "the offer, and what is kept of it: {lines:?}");
    let kept = &lines[1];
    assert_eq!(
        (&kept["business_id"], &kept["shop_id"], &kept["shop_sku"]),
        (&json!(7), &json!(1), &json!("sofa-1"))
    );
    for system in ["united", "silver", "gold"] {
        assert!(kept[system].to_string().contains("30000000"), "{system}: {kept}");
    }

    // It moves to another business, and is the seller's even there.
    let request =
        json!({"request_id": "r1", "source_business_id": 7, "target_business_id": 8, "shop_sku": "sofa-1"});
    let ask = server.request(Method::POST, "/v1/migrations").bearer_auth(&admin).json(&request);
    assert_eq!(answer(ask).await.0, 202);
    eventually(async || {
        let (_, asked) = server.get_as(&admin, "/v1/migrations?business_id=8").await;
        if asked["items"][0]["state"] == "done" { Ok(()) } else { Err(asked.to_string()) }
    })
    .await;
    let lines = export(&server, &seller).await;
    assert_eq!(lines.iter().filter(|line| line["business_id"] == 8).count(), 1, "{lines:?}");

    let erase = server.request(Method::DELETE, "/v1/sellers/north").bearer_auth(&admin);
    assert!(answer(erase).await.0.is_success());
    let paths =
        ["united", "silver", "gold"].map(|system| [7, 8].map(|id| format!("/v1/{system}/{id}/sofa-1")));
    for path in paths.as_flattened() {
        eventually(async || {
            let (status, there) = server.get_as(&admin, path).await;
            if status == 404 { Ok(()) } else { Err(format!("{path}: {there}")) }
        })
        .await;
    }
    assert!(export(&server, &seller).await.is_empty());
}

/// A message that the importer cannot import: its keys are owed, the next one is imported, and once the cause is gone the retry
/// succeeds.
#[tokio::test]
async fn a_bad_message_stops_nothing_and_is_retried() {
    let server = Server::start();
    let admin = server.token("admin");
    let put = async |sku: &str, weight: i64| {
        let weight = json!({"value_mg": weight.to_string()});
        let content = json!({"partner": {"original": {"name": {"value": sku}, "weight": weight}}});
        let offer = json!({"service": {"1": {"meta": {"rgb": "BLUE"}, "content": content}}});
        let path = format!("/v1/united/9/{sku}");
        let (status, said) =
            answer(server.request(Method::PUT, &path).bearer_auth(&admin).json(&offer)).await;
        assert_eq!(status, 200, "{said}");
    };
    put("bad", -5).await;
    put("worse", -6).await;
    put("good", 5).await;
    eventually(async || {
        let (status, silver) = server.get_as(&admin, "/v1/silver/9/good").await;
        if status == 200 && silver["shops"] == json!([1]) { Ok(()) } else { Err(silver.to_string()) }
    })
    .await;
    let failures = eventually(async || {
        let (_, page) = server.get_as(&admin, "/v1/silver/failures?business_id=9").await;
        if page["items"].as_array().is_some_and(|items| items.len() == 2) {
            Ok(page)
        } else {
            Err(page.to_string())
        }
    })
    .await;
    assert_eq!(failures["items"][0]["id"], "9:bad");
    assert!(failures["items"][0]["reason"].as_str().is_some_and(|why| why.contains("-5")), "{failures}");

    // The cause goes. The new shipment pays by itself; what is still owed is retried, one or all.
    put("bad", 7).await;
    eventually(async || {
        let (_, silver) = server.get_as(&admin, "/v1/silver/9/bad").await;
        if silver["shops"] == json!([1]) && silver["failure"].is_null() {
            Ok(())
        } else {
            Err(silver.to_string())
        }
    })
    .await;
    let retried = server.command(&["silver", "retry", "9", "worse"]);
    assert_eq!((retried.code, &retried.json()["id"]), (0, &json!("9:worse")), "{retried:?}");
    let post = async |path: &str, body: Value| {
        answer(server.request(Method::POST, path).bearer_auth(&admin).json(&body)).await
    };
    assert_eq!(post("/v1/silver/failures/retry?reason=weight", json!(null)).await.1["done"], 1);
    assert_eq!(post("/v1/silver/failures/drop?business_id=10", json!(null)).await.1["done"], 0);
    assert_eq!(post("/v1/silver/failures/forgive", json!(null)).await.0, 404);
    assert_eq!(post("/v1/silver/failures/drop?bussiness=10", json!(null)).await.0, 400);
    assert_eq!(post("/v1/silver/failures/drop?business_id=9", json!(null)).await.1["done"], 1);
    assert_eq!(post("/v1/silver/failures/9:worse/drop", json!(null)).await.0, 404);
    let dropped = server.command(&["silver", "drop", "9", "worse"]);
    assert_eq!(dropped.code, 3, "{dropped:?}");
}

#[tokio::test]
async fn new_gold_rules_hold_for_what_is_there() {
    let server = Server::start();
    let admin = server.token("admin");
    let said = |colour: &str, weight: &str| {
        let original = json!({"name": {"value": "Kettle"}, "weight": {"value_mg": weight}});
        json!({"meta": {"rgb": colour}, "content": {"partner": {"original": original}}})
    };
    let offer = json!({"service": {"1": said("BLUE", "5"), "2": said("DBS", "7")}});
    let put = server.request(Method::PUT, "/v1/united/7/sofa-1").bearer_auth(&admin).json(&offer);
    assert_eq!(answer(put).await.0, 200);
    gold_weight(&server, &admin, 5).await;
    let shipped = shipments(&server, &admin).await;
    let rules = server.data.path().join("rules.json");
    let dbs_first = json!({"parameters": {"weight": {"sources": ["DBS", "SUPPLIER"]}}});
    std::fs::write(&rules, dbs_first.to_string()).unwrap();
    let file = rules.to_str().unwrap();
    let preview = server.command(&["gold", "rules", "preview", file]);
    assert_eq!(preview.code, 0, "{preview:?}");
    let preview = preview.json();
    assert_eq!(
        (&preview["sskus"], &preview["changed_values"]["weight"]),
        (&json!(1), &json!(1)),
        "{preview}"
    );
    let applied = server.command(&["gold", "rules", "apply", file]);
    assert_eq!(applied.code, 0, "{applied:?}");
    let weight = gold_weight(&server, &admin, 7).await;
    assert_eq!(weight["candidates"][0]["shop_id"], 2, "{weight}");
    assert_eq!(shipments(&server, &admin).await, shipped, "gold ships nothing");
}
