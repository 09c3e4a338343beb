//! Clusters in one process over one memory store, on virtual time.
#![allow(clippy::unwrap_used)]

mod limits;
mod locks;
mod members;
mod simulation;
mod weather;
mod work;
mod world;
