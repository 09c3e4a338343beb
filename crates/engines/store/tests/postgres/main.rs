//! What the PostgreSQL engine promises beyond the suite that all engines pass, against a real server: the one of
//! `DVOR_TEST_POSTGRES`, or one that a test starts for itself in order to break it.

// The lint knows tests by their attribute; here the helpers are tests too.
#![allow(clippy::unwrap_used)]

mod exclusion;
mod opening;
mod outage;
mod proxy;
mod rows;
mod support;
mod trips;
mod wakes;
