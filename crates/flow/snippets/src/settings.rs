use std::path::PathBuf;
use std::time::Duration;

/// Settings of the service, beside the configuration of the snippets themselves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The configuration; none: the one that comes with Dvor.
    pub config: Option<PathBuf>,
    /// The least time between two tries of a message.
    pub retry_pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { config: None, retry_pause: Duration::from_secs(1) }
    }
}
