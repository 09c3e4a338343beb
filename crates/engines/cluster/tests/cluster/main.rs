//! Clusters in one process over one memory store, on virtual time.

mod limits;
mod locks;
mod members;
mod simulation;
mod weather;
mod world;
