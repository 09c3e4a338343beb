use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::dvor;

#[tokio::test]
async fn the_demo_serves_something_real_and_what_it_prints_works() {
    let mut child = dvor()
        .args(["demo", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
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
        let seller: Value =
            reqwest::get(format!("{base}/v1/demo/sellers/north-tools")).await.unwrap().json().await.unwrap();
        let versions: i64 =
            seller["goods"].as_array().unwrap().iter().map(|good| good["version"].as_i64().unwrap()).sum();
        if versions > 3 && seller["changes"] == versions {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{seller}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for shown in &tries {
        // curl need not be on the machine of the tests; its address was asked above.
        if !shown.starts_with("curl") {
            let done = Command::new("sh").arg("-c").arg(shown).output().unwrap();
            assert!(done.status.success() && !done.stdout.is_empty(), "{shown}: {done:?}");
        }
    }
    let data = tries[1].rsplit(' ').next().unwrap();
    assert!(std::path::Path::new(data).exists());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(!std::path::Path::new(data).exists(), "the folder {data} is left");
}
