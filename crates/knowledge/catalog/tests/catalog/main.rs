//! The catalog as its users see it.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod attributes;
mod imports;
mod rules;
mod sellers;
mod shipped;
mod titles;
