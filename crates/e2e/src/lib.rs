//! Scenario, crash and speed tests of the whole, and what they share. Nothing here is shipped.
//!
//! `src/bin/bench` prints figures beside a reference measured in the same run (`cargo xtask bench`);
//! `src/bin/torture` kills real processes at random moments and checks what is left (`cargo xtask torture`);
//! `tests/` holds what CI runs of both, in short form.

pub mod bench;
pub mod cluster_member;
pub mod http;
pub mod http_pool;
pub mod http_rate;
pub mod import;
pub mod load;
pub mod own_feed;
pub mod peers;
pub mod program;
pub mod redis;
pub mod snippets_ttl;
pub mod torture;

/// What the program has, so that what runs here in place of it is as fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
