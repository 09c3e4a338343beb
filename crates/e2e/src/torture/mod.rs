//! Kill tests: a child process works and tells what was acknowledged; the parent kills it with SIGKILL at a random
//! moment, starts it again and compares. What the child printed before its death is in the pipe, so nothing is lost.

mod arguments;
mod cabinet;
pub mod doors;
mod driver;
pub mod feeds;
pub mod offers;
pub mod silver;
pub mod snippets_child;
pub mod snippets_parent;
pub mod stages;
pub mod store_child;
pub mod store_parent;
pub mod together;

use std::path::Path;

pub use arguments::Arguments;
pub use driver::{Party, Plan as Kills, run as drive};

/// How a kill test of a child process is run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kills: u32,
    pub seed: u64,
    /// How long a restarted child may take to its first acknowledged write.
    pub patience: std::time::Duration,
    /// What the child's folder may hold at most.
    pub most_disk_bytes: u64,
}

/// What a kill test saw.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kills: u32,
    pub acknowledged: u64,
    /// Writes that were there although nobody had been told yet.
    pub unacknowledged_kept: u64,
    pub slowest_reopen_ms: u128,
    pub most_disk_bytes: u64,
}

pub fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => folder_bytes(&entry.path()),
            // A file may go while we look: the database is compacting.
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}
