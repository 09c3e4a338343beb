//! Silver and gold over united offers: imports in any order, what fails, and what comes of it.
#![allow(clippy::unwrap_used)]

mod cases;
mod costs;
mod erased;
mod failures;
mod gaps;
mod import;
mod migrations;
mod properties;
mod rules;
mod sizes;
mod trips;
mod world;
