use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Asks until it holds.
pub(crate) async fn until(what: &str, holds: impl AsyncFnMut() -> bool) {
    until_within(PATIENCE, what, holds).await;
}

/// Asks until it holds, and gives the time that it took, which is bounded.
pub(crate) async fn until_within(
    patience: Duration,
    what: &str,
    mut holds: impl AsyncFnMut() -> bool,
) -> Duration {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}
