//! What the tests here share: servers that the environment gives, and patience.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The address of a server, or nothing: then the test ends and has run nothing. In CI that is a failure.
pub fn given(variable: &str, test: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{test} needs {variable}; `cargo xtask test` sets it");
        eprintln!("{test}: nothing was run, there is no {variable} (`cargo xtask test` sets it)");
    }
    value
}

/// Asks until it holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "not yet: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
