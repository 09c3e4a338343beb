//! Every number that the description of the API knows is bounded, and the program holds to it.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::feeds::client::{Feed, goods};
use crate::program::{Server, answer};

/// A number of a call: where it stands, what it may be.
struct Place {
    method: Method,
    path: String,
    /// `query:limit`, or a pointer into the body.
    at: String,
    min: Option<f64>,
    max: Option<f64>,
}

/// Numbers of a schema, with the pointers to them. What is only read is not sent.
fn numbers(api: &Value, schema: &Value, at: &str, depth: usize, found: &mut Vec<(String, Value)>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        if depth < 8 {
            numbers(api, &api["components"]["schemas"][name], at, depth + 1, found);
        }
        return;
    }
    if schema["readOnly"] == true {
        return;
    }
    let is = |kind: &str| {
        schema["type"] == kind || schema["type"].as_array().is_some_and(|all| all.contains(&json!(kind)))
    };
    if is("integer") || is("number") {
        found.push((at.to_owned(), schema.clone()));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        numbers(api, property, &format!("{at}/{name}"), depth, found);
    }
    if schema["items"].is_object() && schema["items"]["format"] != "int32" {
        numbers(api, &schema["items"], &format!("{at}/0"), depth, found);
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        for one in schema[several].as_array().into_iter().flatten() {
            numbers(api, one, at, depth, found);
        }
    }
}

fn places(api: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            let mut found = Vec::new();
            for parameter in call["parameters"].as_array().into_iter().flatten() {
                let at =
                    format!("{}:{}", parameter["in"].as_str().unwrap(), parameter["name"].as_str().unwrap());
                numbers(api, &parameter["schema"], &at, 0, &mut found);
            }
            let body = &call["requestBody"]["content"]["application/json"]["schema"];
            numbers(api, body, "", 0, &mut found);
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            places.extend(found.into_iter().map(|(at, schema)| Place {
                method: method.clone(),
                path: path.clone(),
                at,
                min: schema["minimum"].as_f64(),
                max: schema["maximum"].as_f64(),
            }));
        }
    }
    places
}

fn phone() -> Value {
    json!({
        "seller_id": "shop", "category": {"id": "smartphones"}, "title": "iPhone 13",
        "attributes": [{"id": "brand", "value": "Apple"}],
        "location": {"lat": 55.7, "lon": 37.6}, "dimensions": {"length_mm": 1, "width_mm": 1, "height_mm": 1},
    })
}

/// A call that goes through but for the one number that is put in.
fn body_of(path: &str) -> Value {
    let offer = phone();
    match path {
        "/v1/offers" => offer,
        "/v1/drafts" | "/v1/drafts/{id}" | "/v1/offers/{id}" => {
            let mut content = offer;
            content.as_object_mut().unwrap().remove("seller_id");
            content
        }
        "/v1/stages/{stage}" => json!({"address": "http://127.0.0.1:9", "masks": ["title"]}),
        "/v1/migrations" => {
            json!({"request_id": "r", "source_business_id": 1, "target_business_id": 2, "shop_sku": "s"})
        }
        "/v1/topics/{topic}/commit" => json!({"group": "g", "positions": [{"partition": 0, "next": 0}]}),
        _ => json!({}),
    }
}

/// Puts a value where a pointer leads, making what is missing on the way.
fn put(body: &mut Value, at: &str, value: Value) {
    let mut here = body;
    for part in at.split('/').skip(1) {
        here = match part {
            "0" => {
                if here.as_array().is_none_or(Vec::is_empty) {
                    *here = json!([{}]);
                }
                &mut here[0]
            }
            _ => {
                if !here.is_object() {
                    *here = Value::Object(Map::new());
                }
                &mut here[part]
            }
        };
    }
    *here = value;
}

#[tokio::test]
async fn every_number_of_the_api_has_bounds_that_hold() {
    let server = Server::start();
    let (status, made) = server.post("/v1/offers", phone()).await;
    assert_eq!(status, 201, "{made}");
    Feed::of(&server, "default").load(&goods([(1, 100)])).await;
    let api: Value =
        serde_json::from_str(&std::fs::read_to_string("tests/golden/openapi.json").unwrap()).unwrap();
    let all = places(&api);
    assert!(all.len() > 60, "{}", all.len());
    let unbounded: Vec<String> = all
        .iter()
        .filter(|place| place.min.is_none() || place.max.is_none())
        .map(|place| format!("{} {} {}", place.method, place.path, place.at))
        .collect();
    assert!(unbounded.is_empty(), "without bounds: {unbounded:#?}");

    for place in &all {
        let (min, max) = (place.min.unwrap(), place.max.unwrap());
        for value in [min - 1.0, max + 1.0, min * 1e3 - 1e6, max * 1e3 + 1e6] {
            // Numbers so large that the next one cannot be told from them are sent as they are printed.
            let text = if value.fract() == 0.0 { format!("{value:.0}") } else { value.to_string() };
            if value <= max && value >= min {
                continue;
            }
            let (status, said) = call(&server, place, &text).await;
            let what = format!("{} {} {} = {text}", place.method, place.path, place.at);
            assert!((400..500).contains(&status), "{what}: {status} {said}");
            // A wrong path is no resource, and a position is told by where its partition ends.
            let field = place.at.trim_start_matches("query:").trim_start_matches('/');
            let (first, last) = (field.split('/').next(), field.split('/').next_back());
            let is_named = [first, last].into_iter().flatten().any(|name| said.contains(name));
            let is_told = is_named || said.contains("ends at") || place.at.starts_with("path:");
            assert!(is_told, "{what}: nothing says that {field} is wrong: {said}");
        }
    }
}

async fn call(server: &Server, place: &Place, value: &str) -> (u16, String) {
    let (mut path, mut query) = (place.path.clone(), String::new());
    match place.at.split_once(':') {
        Some(("path", name)) => path = path.replace(&format!("{{{name}}}"), value),
        Some((_, name)) => query = format!("?{name}={value}"),
        None => {}
    }
    if place.path == "/v1/migrations" && place.method == Method::GET && !query.contains("business_id") {
        query.push_str("&business_id=1");
    }
    if place.path == "/v1/admin/tables/{system}/{name}" {
        "/v1/admin/tables/access/tokens".clone_into(&mut path);
    }
    for (name, sample) in
        [("{seller}", "shop"), ("{namespace}", "default"), ("{stage}", "colors"), ("{task_id}", "1")]
    {
        path = path.replace(name, sample);
    }
    let path =
        path.replace("{topic}", "offers.changes").replace("{key}", "import").replace("{verdict}", "retry");
    let path = path.replace("{business_id}", "1").replace("{shop_id}", "1").replace("{shop_sku}", "s");
    let path = path.replace("{id}", &known(server, &place.path).await);
    let mut request = server.request(place.method.clone(), &format!("{path}{query}"));
    if place.at.starts_with('/') {
        let mut body = body_of(&place.path);
        put(&mut body, &place.at, serde_json::from_str(value).unwrap());
        request = request.json(&body);
    } else if place.method != Method::GET {
        request = request.json(&json!({}));
    }
    let (status, said) = answer(request.header("if-match", "*")).await;
    (status.as_u16(), said.to_string())
}

/// The id of a draft or an offer that is there.
async fn known(server: &Server, path: &str) -> String {
    if !path.contains("{id}") {
        return String::new();
    }
    let made = if path.starts_with("/v1/drafts") {
        server.post("/v1/drafts", json!({"title": "Диван"})).await.1
    } else {
        server.get("/v1/sellers/shop/offers").await.1["items"][0].clone()
    };
    made["id"].as_str().unwrap_or("0").to_owned()
}
