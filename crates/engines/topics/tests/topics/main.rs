//! All tests of the crate that need more than one file of it, in one binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod backends;
mod broker;
mod flow;
mod kafka_flow;

/// Runs a test on virtual time, once for each seed.
fn seeds(count: u64, test: impl AsyncFn(u64)) {
    for seed in 0..count {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let run = || runtime.unwrap().block_on(test(seed));
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}
