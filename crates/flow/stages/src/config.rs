use std::time::Duration;

/// What those who run Dvor may choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a stage may take to say whether it wants an offer.
    pub ask_timeout: Duration,
    /// How long a batch of runs may take; a stage of another program can choose less.
    pub deadline: Duration,
    /// Offers a second that a walk looks at, over all processes.
    pub walk_per_second: u32,
    /// Batches under way in a process.
    pub at_once: usize,
}

/// Longest deadline: a call must end before the lease of its work token.
pub const MAX_DEADLINE: Duration = Duration::from_secs(3);

impl Default for Settings {
    fn default() -> Self {
        Self {
            ask_timeout: Duration::from_millis(500),
            deadline: MAX_DEADLINE,
            walk_per_second: 2_000,
            at_once: 16,
        }
    }
}
