//! Clusters in one process over one memory store, on virtual time.

mod members;
mod world;
