use std::time::Duration;

/// How a process takes part.
#[derive(Clone, Debug)]
pub struct Options {
    /// A name that no other process has or ever had; random when not given.
    pub id: Option<String>,
    /// Roles over all shards, known from the start.
    pub roles: Vec<String>,
    pub version: String,
    /// Between two heartbeats.
    pub beat: Duration,
    /// How long a heartbeat is worth: the own lease, and the silence after which another counts as dead.
    pub lease: Duration,
    /// How often the same heartbeat must have been read for that.
    pub reads: u32,
    /// The store can be open in one process only (embedded), so all other members are gone: nothing to wait for.
    pub alone: bool,
    /// How many shards change hands at a time.
    pub parallel: usize,
    /// When the row of a dead member is cleared away.
    pub forget: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            id: None,
            roles: Vec::new(),
            version: String::new(),
            beat: Duration::from_secs(2),
            lease: Duration::from_secs(6),
            reads: 4,
            alone: false,
            parallel: 64,
            forget: Duration::from_mins(10),
        }
    }
}
