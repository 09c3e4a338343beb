//! All tests of the crate that need more than one file of it, in one binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod flow;
mod http;
mod images;
mod kill;
mod metadata;
mod pictures;
mod trips;
mod world;
