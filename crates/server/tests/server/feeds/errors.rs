//! The seller's view: each thing that is wrong with a load, with all that helps to mend it.

use reqwest::Method;
use serde_json::{Value, json};

use super::client::Feed;
use super::zip;
use crate::program::{Server, answer};

/// Every type of error, at both levels where a type has both. The offer «banned» is judged between two loads.
const FILE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<feed version="1">
<offers>
<offer id="good"><title>Диван угловой</title><category>Диваны</category><price currency="RUB">100</price><location>Казань</location></offer>
<offer id="banned"><title>Диван прямой</title><category>Диваны</category><price currency="RUB">100</price><location>Казань</location></offer>
<offer id="category"><title>Товар для дома</title><price currency="RUB">100</price><location>Казань</location></offer>
<offer id="attribute"><title>Диван угловой</title><category>Диваны</category><price currency="RUB">100</price><attributes><attribute name="Цвет">серрый</attribute></attributes><location>Казань</location></offer>
<offer id="place"><title>Диван угловой</title><category>Диваны</category><price currency="RUB">100</price><location>Железногорск</location></offer>
<offer id="nowhere"><title>Диван угловой</title><category>Диваны</category><price currency="RUB">100</price></offer>
<offer id="nameless"><title></title><category>Диваны</category><price currency="RUB">100</price><location>Казань</location></offer>
<offer id="price"><title>Диван, который стоит дорого</title><category>Диваны</category><price currency="RUB">дорого</price><location>Казань</location></offer>
<offer id="good"><title>Диван угловой</title><category>Диваны</category><price currency="RUB">100</price><location>Казань</location></offer>
</offers>
</feed>
"#;

async fn listed(feed: &Feed<'_>, query: &str, language: &str) -> Vec<Value> {
    let path = format!("/v1/sellers/shop/feeds/default/tasks/2/errors?{query}");
    let request = feed.server.request(Method::GET, &path).header("accept-language", language);
    let (status, page) = answer(request).await;
    assert_eq!(status, 200, "{query}: {page}");
    page["items"].as_array().unwrap().clone()
}

async fn download(feed: &Feed<'_>, name: &str, language: &str) -> (String, Vec<u8>) {
    let path = format!("/v1/sellers/shop/feeds/default/tasks/2/{name}");
    let request = feed.server.request(Method::GET, &path).header("accept-language", language);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    (kind, response.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn every_kind_of_error_is_shown_with_all_that_helps_to_mend_it() {
    let server = Server::start();
    let feed = Feed::of(&server, "default");
    feed.load(FILE).await;
    let offers = feed.all_offers().await;
    let banned = offers.iter().find(|offer| offer["origin"]["external_id"] == "banned").unwrap();
    let id = banned["id"].as_str().unwrap();
    let opinion = json!({"opinion": "ban", "reasons": ["spam"], "timestamp": "2026-01-01T00:00:00Z"});
    let judged = server.post(&format!("/v1/offers/{id}/opinions"), opinion).await;
    assert!(judged.0.is_success(), "{judged:?}");
    let load = feed.load(FILE).await;
    assert_eq!((&load["task_id"], &load["status"]), (&json!("2"), &json!("succeeded")), "{load}");

    let english = listed(&feed, "limit=100", "en").await;
    let russian = listed(&feed, "limit=100", "ru").await;
    assert_eq!(english.len(), russian.len());
    for (one, other) in english.iter().zip(&russian) {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        let id = text("external_id");
        let line =
            4 + FILE.lines().skip(3).position(|line| line.contains(&format!("id=\"{id}\""))).unwrap() as i64;
        let wanted = if text("type") == "duplicate" { 12 } else { line };
        assert_eq!(one["line"], wanted, "{one}");
        assert!(!text("code").is_empty() && !text("message").is_empty(), "{one}");
        assert!(
            id == "nameless" || text("title").starts_with("Диван") || text("title").starts_with("Товар"),
            "{one}"
        );
        assert_ne!(one["message"], other["message"], "both languages have a sentence");
        assert!(
            other["message"].as_str().unwrap().chars().any(|letter| ('а'..='я').contains(&letter)),
            "{other}"
        );
    }
    // (id, level, type, code, field, value, whether there is a suggestion)
    let expected = [
        ("attribute", "warning", "attribute", "not_an_option", "attributes.color", "серрый", true),
        ("banned", "error", "banned", "banned", "", "", false),
        ("category", "error", "category", "category_unclear", "category", "Товар для дома", true),
        ("good", "error", "duplicate", "duplicate", "", "good", false),
        ("nameless", "error", "validation", "required", "title", "", false),
        ("nowhere", "warning", "geo", "geo_missing", "location", "", false),
        ("place", "error", "geo", "geo_ambiguous", "location", "Железногорск", true),
        ("price", "error", "validation", "not_a_number", "price", "дорого", false),
    ];
    let found: Vec<_> = english
        .iter()
        .map(|error| {
            let text = |field: &str| error[field].as_str().unwrap_or_default();
            let suggested = !text("suggestion").is_empty();
            (
                text("external_id"),
                text("level"),
                text("type"),
                text("code"),
                text("field"),
                text("value"),
                suggested,
            )
        })
        .collect();
    assert_eq!(found, expected);
    totals_equal_the_list(&load, &english);
    filters_and_pages(&feed, &english).await;
    tables_have_the_same_rows(&feed, &english, &russian).await;
}

fn totals_equal_the_list(load: &Value, listed: &[Value]) {
    let found = &load["statistics"];
    let count = |field: &str, value: &str| listed.iter().filter(|error| error[field] == value).count();
    assert_eq!(found["errors"], count("level", "error"), "{found}");
    assert_eq!(found["warnings"], count("level", "warning"), "{found}");
    for (kind, number) in found["by_type"].as_object().unwrap() {
        assert_eq!(*number, count("type", kind), "{kind}");
    }
    let sum: i64 =
        found["by_type"].as_object().unwrap().values().map(|number| number.as_i64().unwrap()).sum();
    assert_eq!(sum as usize, listed.len());
    assert_eq!((&found["total"], &found["duplicate"], &found["banned"]), (&json!(9), &json!(1), &json!(1)));
}

async fn filters_and_pages(feed: &Feed<'_>, all: &[Value]) {
    for (query, field, value) in [
        ("level=error", "level", "error"),
        ("level=warning", "level", "warning"),
        ("type=geo", "type", "geo"),
        ("type=banned", "type", "banned"),
        ("search=place", "external_id", "place"),
    ] {
        let wanted: Vec<&Value> = all.iter().filter(|error| error[field] == value).collect();
        let found = listed(feed, query, "en").await;
        let mut sorted: Vec<&Value> = found.iter().collect();
        sorted.sort_by_key(|error| error["external_id"].as_str());
        assert!(!wanted.is_empty());
        assert_eq!(sorted, wanted, "{query}");
    }
    let found = listed(feed, "type=geo&level=error", "en").await;
    assert_eq!((found.len(), &found[0]["external_id"]), (1, &json!("place")));
    let found = listed(feed, "search=n&level=warning", "en").await;
    assert_eq!((found.len(), &found[0]["external_id"]), (1, &json!("nowhere")));
    let found = listed(feed, "title=%D0%A2%D0%9E%D0%92%D0%90%D0%A0", "en").await;
    assert!(
        !found.is_empty() && found.iter().all(|error| error["title"].as_str().unwrap().starts_with("Товар")),
        "{found:?}"
    );
    assert_eq!(
        found.len(),
        all.iter().filter(|error| error["title"].as_str().unwrap().starts_with("Товар")).count()
    );
    for filter in ["", "&level=error", "&search=n", "&type=geo", "&title=%D0%B4%D0%B8%D0%B2%D0%B0%D0%BD"] {
        let whole = listed(feed, &format!("limit=100{filter}"), "en").await;
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = feed.get(&format!("/tasks/2/errors?limit=1{filter}{cursor}")).await;
            paged.extend(page["items"].as_array().unwrap().clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(paged, whole, "{filter}");
    }
    // Cursors that no list gave, though they look like it.
    let forged = |level: u32, id: &str| {
        format!("type=geo&cursor={}", feeds::errors::write_cursor(&(level, id.to_owned(), 1)))
    };
    let forged = [forged(u32::MAX, "place"), forged(1, "a\0b"), forged(1, &"x".repeat(300))];
    let bad = ["level=high", "type=none", "cursor=%21", "limit=0"].into_iter();
    for bad in bad.chain(forged.iter().map(String::as_str)) {
        let refused = feed.call(Method::GET, &format!("/tasks/2/errors?{bad}"), None).await;
        assert_eq!(refused.0, 422, "{bad}: {}", refused.1);
    }
}

/// Both files are opened and read.
async fn tables_have_the_same_rows(feed: &Feed<'_>, english: &[Value], russian: &[Value]) {
    let (kind, csv) = download(feed, "errors.csv", "ru").await;
    assert_eq!(kind, "text/csv; charset=utf-8");
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.strip_prefix('\u{FEFF}').unwrap().split("\r\n");
    assert!(lines.next().unwrap().starts_with("Строка,Идентификатор,"));
    let rows: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), russian.len());
    for (row, error) in rows.iter().zip(russian) {
        let begin = format!("{},{},", error["line"], error["external_id"].as_str().unwrap());
        assert!(row.starts_with(&begin) && row.ends_with(error["code"].as_str().unwrap()), "{row}: {error}");
        assert!(row.contains(error["message"].as_str().unwrap()), "{row}: {error}");
    }
    let (kind, xlsx) = download(feed, "errors.xlsx", "en").await;
    assert_eq!(kind, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
    let sheet = zip::entry(&xlsx, "xl/worksheets/sheet1.xml");
    let rows: Vec<&str> = sheet.split("<row ").skip(1).collect();
    assert_eq!(rows.len(), 1 + english.len());
    assert!(rows[0].contains(">Suggestion<"), "{}", rows[0]);
    for (row, error) in rows[1..].iter().zip(english) {
        assert!(row.contains(&format!("<v>{}</v>", error["line"])), "{row}: {error}");
        for field in ["external_id", "title", "level", "type", "code", "message"] {
            let text = error[field].as_str().unwrap().replace('&', "&amp;");
            assert!(text.is_empty() || row.contains(&format!(">{text}<")), "{field}: {row}: {error}");
        }
    }
}
