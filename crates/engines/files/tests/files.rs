//! All tests of the crate that need more than one file of it, in one binary.

#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod conform;
mod crash;
mod flow;
mod owner;
mod s3;
mod simulation;
