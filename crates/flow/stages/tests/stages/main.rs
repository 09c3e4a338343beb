//! The scheduler on the memory engine, on virtual time.
#![allow(clippy::unwrap_used)]

mod builtin;
mod catalog;
mod failures;
mod lanes;
mod photo_order;
mod plugin;
mod price;
mod rows;
mod saved;
mod simulation;
mod support;
mod takeover;
mod video;
mod wakes;
mod walkthrough;
