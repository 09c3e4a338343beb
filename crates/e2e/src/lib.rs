//! Scenario, crash and speed tests of the whole, and what they share. Nothing here is shipped.
//!
//! `src/bin/bench-*.rs` print figures beside a reference measured in the same run (`cargo xtask bench`);
//! `src/bin/torture-*.rs` kill real processes at random moments and check what is left (`cargo xtask torture`);
//! `tests/` holds what CI runs of both, in short form.

pub mod bench;
pub mod cluster_member;
pub mod http;
pub mod http_pool;
pub mod http_rate;
pub mod load;
pub mod own_feed;
pub mod program;
pub mod redis;
pub mod sweep_bench;
pub mod torture;
