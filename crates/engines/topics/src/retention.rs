use std::time::Duration;

use kit::Shutdown;

use crate::{Topics, consume};

/// Retention is counted in days; a minute more or less is nothing.
const RETAIN_EVERY: Duration = Duration::from_secs(60);

/// Removes old records now and then, beside the relay.
pub(crate) async fn run(topics: &Topics, shutdown: &Shutdown) {
    while shutdown.sleep(RETAIN_EVERY).await {
        if let Err(error) = topics.backend().retain().await {
            tracing::warn!(%error, "old records were not removed; trying again in a minute");
        }
        if let Err(error) = consume::forget_marks(topics).await {
            tracing::warn!(%error, "old marks of dead letters were not removed; trying again in a minute");
        }
    }
}
