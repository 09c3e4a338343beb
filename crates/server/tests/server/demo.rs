use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{client, dvor};

/// Ends with the test, also with one that failed.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_demo_serves_something_real_and_what_it_prints_works() {
    let child = dvor()
        .args(["demo", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut demo = Demo(child);
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let printed: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Ctrl-C")).collect();
    let seconds: f64 = printed[0].split_whitespace().find_map(|word| word.parse().ok()).expect("the time");
    assert!(seconds < 5.0, "{printed:?}");

    let tries: Vec<_> = printed
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.contains("--data") || line.starts_with("curl"))
        .collect();
    assert_eq!(tries.len(), 3, "{printed:?}");
    let base = printed
        .iter()
        .find_map(|line| line.trim().strip_suffix("what is where"))
        .unwrap()
        .trim()
        .trim_end_matches('/');

    // The consumer counts every change once: as many as the versions of the goods say.
    let began = Instant::now();
    loop {
        let seller: Value = client()
            .get(format!("{base}/v1/demo/sellers/north-tools"))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let versions: i64 =
            seller["goods"].as_array().unwrap().iter().map(|good| good["version"].as_i64().unwrap()).sum();
        if versions > 3 && seller["changes"] == versions {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{seller}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    dead_letters(base).await;
    for shown in &tries {
        // curl need not be on the machine of the tests; its address was asked above.
        if !shown.starts_with("curl") {
            let done = Command::new("sh").arg("-c").arg(shown).output().unwrap();
            assert!(done.status.success() && !done.stdout.is_empty(), "{shown}: {done:?}");
        }
    }
    let data = tries[1].rsplit(' ').next().unwrap();
    assert!(std::path::Path::new(data).exists());
    assert!(Command::new("kill").args(["-INT", &demo.0.id().to_string()]).status().unwrap().success());
    assert!(demo.0.wait().unwrap().success());
    assert!(!std::path::Path::new(data).exists(), "the folder {data} is left");
}

/// What the demo's consumer cannot read becomes a dead letter, which can be looked at, retried and dropped.
async fn dead_letters(base: &str) {
    let http = client();
    let topic = format!("{base}/v1/topics/demo.changes");
    let bad =
        serde_json::json!({"records": [{"key": "north-tools", "payload": "no change", "encoding": "text"}]});
    assert_eq!(http.post(format!("{topic}/records")).json(&bad).send().await.unwrap().status(), 201);
    let letters = async || -> Vec<Value> {
        let page: Value =
            client().get(format!("{topic}/dead-letters")).send().await.unwrap().json().await.unwrap();
        page["items"].as_array().unwrap().clone()
    };
    let began = Instant::now();
    while letters().await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(15), "no dead letter");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let letter = letters().await.remove(0);
    assert_eq!(letter["group"], "demo.counts");
    let address = format!("{topic}/dead-letters/{}", letter["id"].as_str().unwrap());
    let record: Value = client().get(&address).send().await.unwrap().json().await.unwrap();
    assert_eq!(record["payload"], "no change");
    assert_eq!(http.post(format!("{address}/retry")).send().await.unwrap().status(), 202);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(letters().await.len(), 1, "it cannot be applied now either");
    assert_eq!(http.delete(&address).send().await.unwrap().status(), 204);
    assert!(letters().await.is_empty());
    assert_eq!(http.delete(&address).send().await.unwrap().status(), 404);
}
