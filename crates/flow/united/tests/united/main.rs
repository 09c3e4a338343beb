//! United offers on the memory engine: what is written, which versions it gets, and what is shipped.
#![allow(clippy::unwrap_used)]

mod lost;
mod moves;
mod parts;
mod reuse;
mod sizes;
mod trips;
mod world;
