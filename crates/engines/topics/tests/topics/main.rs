//! All tests of the crate that need more than one file of it, in one binary.

mod backends;
mod flow;
mod servers;
