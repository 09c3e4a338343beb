//! What every flow crate stands on: the engines and the clock of one process.
//!
//! The server makes a [`Base`] once and hands it to `X::new(&base, settings, …)` of each flow crate. All of them have the same
//! shape: `tables()` and `TOPICS` say what they keep and what they read or write; `X::start(&tasks)` (one function for
//! each role, where a crate has several) makes the topics and starts the consumers and the background work; `api::routes()` is
//! their part of the HTTP port.

use std::sync::Arc;

use cluster::Cluster;
use files::Files;
use files::objects::Memory;
use kit::Clock;
use store::{Store, TableSpec};
use topics::Topics;

/// The engines and the clock of a process. Clones share them.
#[derive(Clone)]
pub struct Base {
    pub store: Store,
    pub topics: Topics,
    pub files: Files,
    pub cluster: Cluster,
    pub clock: Clock,
}

impl Base {
    /// A process that shares its store with nobody, with its topics in the store and its files in memory: for tests, benches and
    /// simulation.
    ///
    /// # Panics
    /// When the folder for temporary files cannot be made.
    pub fn alone(store: Store, clock: Clock) -> Self {
        let options = files::Options::new(std::env::temp_dir());
        let options = files::Options { clock: clock.clone(), reserve_bytes: 0, ..options };
        let files = Files::over(Arc::new(Memory::default()), store.clone(), options);
        let topics = topics::Options { clock: clock.clone(), ..topics::Options::default() };
        Self {
            topics: Topics::alone(store.clone(), topics),
            files: files.expect("there is a folder for temporary files"),
            cluster: Cluster::solo(store.clone(), clock.clone()),
            store,
            clock,
        }
    }
}

/// The tables of the engines.
pub fn tables() -> Vec<TableSpec> {
    [topics::tables(), files::tables(), cluster::tables()].concat()
}
