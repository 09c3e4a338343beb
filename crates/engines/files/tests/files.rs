//! All tests of the crate that need more than one file of it, in one binary.

mod conform;
mod crash;
mod flow;
mod owner;
mod s3;
mod simulation;
