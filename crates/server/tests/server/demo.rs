use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::program::{client, dvor, eventually};

/// Ends with the test, also with one that failed.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until the answer is as wanted.
async fn until(address: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    eventually(async || {
        let answer: Value = client().get(address).send().await.unwrap().json().await.unwrap();
        if wanted(&answer) { Ok(answer) } else { Err(format!("{address}: {answer}")) }
    })
    .await
}

#[tokio::test]
async fn the_demo_lives_and_what_it_prints_works() {
    let child = dvor()
        .args(["demo", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut demo = Demo(child);
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let printed: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Ctrl-C")).collect();
    let says_how_long = printed[0].split_whitespace().any(|word| word.parse::<f64>().is_ok());
    assert!(says_how_long, "{printed:?}");

    let trimmed = || printed.iter().map(|line| line.trim());
    let tries: Vec<_> =
        trimmed().filter(|line| line.contains("--data") || line.starts_with("curl")).collect();
    assert_eq!(tries.len(), 4, "{printed:?}");
    let pages: Vec<_> = trimmed().filter(|line| line.starts_with("http://")).collect();
    assert_eq!(pages.len(), 4, "{printed:?}");
    let base = pages[0].strip_suffix("/console").expect("the console's address");

    happens(base).await;
    for page in pages {
        let seen = client().get(page).send().await.unwrap();
        assert_eq!(seen.status(), 200, "{page}");
        assert!(seen.text().await.unwrap().contains("</html>"), "{page}");
    }
    for shown in &tries {
        // curl need not be on the machine of the tests; its address is asked below.
        if !shown.starts_with("curl") {
            let done = Command::new("sh").arg("-c").arg(shown).output().unwrap();
            assert!(done.status.success() && !done.stdout.is_empty(), "{shown}: {done:?}");
        }
    }
    let presets = tries[0].rsplit(' ').next().unwrap();
    until(presets, |found| found["items"][0]["count"].as_i64() > Some(0)).await;
    let data = tries[1].rsplit(' ').next().unwrap();
    assert!(std::path::Path::new(data).exists());
    assert!(Command::new("kill").args(["-INT", &demo.0.id().to_string()]).status().unwrap().success());
    assert!(demo.0.wait().unwrap().success());
    assert!(!std::path::Path::new(data).exists(), "the folder {data} is left");
}

/// What the demo is there to show comes about by itself.
async fn happens(base: &str) {
    let feed = |seller: &str, name: &str| format!("{base}/v1/sellers/{seller}/feeds/{name}/tasks");
    let status = |wanted: &'static str| move |found: &Value| found["items"][0]["status"] == wanted;
    until(&feed("lada-garden", "seedlings"), status("needs_confirmation")).await;
    until(&feed("book-yard", "broken"), status("failed")).await;
    for (seller, name) in [
        ("north-tools", "bits"),
        ("north-tools", "electrics"),
        ("lada-garden", "flowers"),
        ("book-yard", "maps"),
        ("book-yard", "rare"),
    ] {
        let found = until(&feed(seller, name), status("succeeded")).await;
        assert!(found["items"][0]["statistics"]["created"].as_i64() >= Some(2), "{seller} {name}: {found}");
    }
    // Prices change, so a feed is loaded again and again, and something in it changes.
    let updated = |found: &Value| {
        let loads = found["items"].as_array().unwrap();
        loads.iter().any(|load| load["statistics"]["updated"].as_i64() > Some(0))
    };
    let tools = until(&feed("north-tools", "default"), updated).await;
    // The newest load may be under way.
    let ended = tools["items"].as_array().unwrap().iter().find(|load| load["status"] == "succeeded").unwrap();
    assert!(ended["statistics"]["rejected"].as_i64() >= Some(1), "{tools}");
    // Photos arrive, moderators speak, snippets are made.
    let offers = format!("{base}/v1/sellers/north-tools/offers?preset=from_feed&limit=50");
    let ready = |offer: &Value| offer["photos"][0]["state"] == "ready";
    until(&offers, |found| found["items"].as_array().unwrap().iter().any(ready)).await;
    let opinions = format!("{base}/v1/topics/moderation.opinions/records");
    until(&opinions, |found| !found["items"].as_array().unwrap().is_empty()).await;
    // A plug-in describes offers, cannot describe some, and is told of what was saved.
    until(&format!("{base}/v1/stages/describe"), |stage| stage["parked"].as_i64() > Some(0)).await;
    let failures = format!("{base}/v1/stages/describe/failures");
    until(&failures, |found| {
        found["items"][0]["error"].as_str().is_some_and(|error| error.contains("no words"))
    })
    .await;
    let described =
        |offer: &Value| offer["description"].as_str().is_some_and(|text| text.contains("всё расскажем"));
    let flowers = format!("{base}/v1/sellers/lada-garden/offers?preset=from_feed&limit=200");
    until(&flowers, |found| found["items"].as_array().unwrap().iter().any(described)).await;
    // Two shops describe the same goods; gold has chosen, and an offer has moved to another business.
    let gold = format!("{base}/v1/gold/100/hammer-450");
    let weight = |found: &Value| {
        let values = found["values"].as_array().cloned().unwrap_or_default();
        values.into_iter().find(|value| value["parameter"] == "weight").unwrap_or_default()
    };
    let chosen = until(&gold, |found| weight(found)["candidates"].as_array().map(Vec::len) == Some(3)).await;
    assert_eq!(weight(&chosen)["values"], serde_json::json!([650_000]), "{chosen}");
    assert_eq!(weight(&chosen)["reason"], "max", "{chosen}");
    let moves = format!("{base}/v1/migrations?business_id=100");
    until(&moves, |found| found["items"][0]["state"] == "done").await;
    until(&format!("{base}/v1/gold/100/garden-b"), |found| found["values"].is_array()).await;
    let failures = format!("{base}/v1/silver/failures?business_id=100");
    until(&failures, |found| found["items"][0]["shop_sku"] == "scales-1").await;
    let lag = format!("{base}/v1/topics/offers.changes/groups");
    until(&lag, |found| found["items"].as_array().unwrap().iter().any(|group| group["group"] == "snippets"))
        .await;
}

/// What a consumer cannot read becomes a dead letter, which can be looked at, retried and dropped.
#[tokio::test]
async fn a_record_that_is_no_opinion_becomes_a_dead_letter() {
    let server = crate::program::Server::start();
    let http = client();
    let topic = format!("{}/v1/topics/moderation.opinions", server.http);
    let bad =
        serde_json::json!({"records": [{"key": "north-tools", "payload": "no opinion", "encoding": "text"}]});
    assert_eq!(http.post(format!("{topic}/records")).json(&bad).send().await.unwrap().status(), 201);
    let list = format!("{topic}/dead-letters");
    let found = until(&list, |found| !found["items"].as_array().unwrap().is_empty()).await;
    let letter = &found["items"][0];
    assert_eq!(letter["group"], "offers");
    let address = format!("{topic}/dead-letters/{}", letter["id"].as_str().unwrap());
    let record: Value = client().get(&address).send().await.unwrap().json().await.unwrap();
    assert_eq!(record["payload"], "no opinion");
    assert_eq!(http.post(format!("{address}/retry")).send().await.unwrap().status(), 202);
    // Tried again it fails again, and says when.
    until(&list, |found| found["items"][0]["failed_at"] != letter["failed_at"]).await;
    assert_eq!(http.delete(&address).send().await.unwrap().status(), 204);
    until(&list, |found| found["items"].as_array().unwrap().is_empty()).await;
    assert_eq!(http.delete(&address).send().await.unwrap().status(), 404);
}

/// The same shape as for all that fails: one by one, or together.
#[tokio::test]
async fn failures_of_a_topic_are_told_to_retry_or_to_drop() {
    let server = crate::program::Server::start();
    let http = client();
    let topic = format!("{}/v1/topics/moderation.opinions", server.http);
    let bad = serde_json::json!({"key": "north-tools", "payload": "no opinion", "encoding": "text"});
    let records = serde_json::json!({"records": [bad, bad, bad]});
    assert_eq!(http.post(format!("{topic}/records")).json(&records).send().await.unwrap().status(), 201);
    let list = format!("{topic}/failures");
    let found = until(&list, |found| found["items"].as_array().unwrap().len() == 3).await;
    let first = found["items"][0]["id"].as_str().unwrap().to_owned();
    let judge = async |path: String| {
        let answer = http.post(format!("{list}/{path}")).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap_or_default())
    };
    assert_eq!(judge(format!("{first}/retry")).await.0, 202);
    until(&list, |found| found["items"][0]["attempts"] == 2).await;
    assert_eq!(
        judge("retry?group=offers".to_owned()).await,
        (200, serde_json::json!({"done": 3, "failed": 0}))
    );
    until(&list, |found| {
        found["items"].as_array().unwrap().iter().all(|item| item["attempts"].as_u64() > Some(1))
    })
    .await;
    assert_eq!(judge(format!("{first}/forget")).await.0, 404);
    assert_eq!(judge(format!("{first}/drop")).await.0, 204);
    assert_eq!(judge("drop?reason=of%20another%20kind".to_owned()).await.1["done"], 0);
    assert_eq!(judge("drop?group=nobody".to_owned()).await.1["done"], 0);
    assert_eq!(judge("drop".to_owned()).await.1["done"], 2);
    until(&list, |found| found["items"].as_array().unwrap().is_empty()).await;
}
