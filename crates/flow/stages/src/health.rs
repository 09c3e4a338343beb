//! Whether a stage answers: after a call that failed as a whole it is left alone for a while, longer each time.
//!
//! This is the stage's circuit breaker, in memory of each process. While it is open no run of the stage counts as tried:
//! an outage of a day parks nobody.
//!
//! A stage that does not answer to a whole batch in time may answer to a smaller one: the next one is half as large, and
//! grows again with every one that is answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kit::Timestamp;

use crate::turns::BATCH;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Failures in a row after which the stage counts as down.
const FAILURES: u32 = 3;

#[derive(Debug, Default)]
pub(crate) struct Health {
    breaker: Mutex<Breaker>,
    /// By how much batches are smaller than [`BATCH`].
    less: AtomicUsize,
}

/// How a stage's calls went lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Calls that failed in a row.
    pub failures: u32,
    /// No call before this moment.
    pub open_until: Timestamp,
    /// Since when no call has succeeded.
    pub down_since: Option<Timestamp>,
    pub last_error: String,
}

impl Health {
    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers that the stage is run on at a time.
    pub(crate) fn batch(&self) -> usize {
        BATCH - self.less.load(Ordering::Relaxed).min(BATCH - 1)
    }

    /// A batch of this size was not answered in time.
    pub(crate) fn shrink(&self, size: usize) {
        self.less.store(BATCH - (size / 2).clamp(1, BATCH), Ordering::Relaxed);
    }

    /// A batch of this size was answered.
    pub(crate) fn grow(&self, size: usize) {
        if size >= self.batch() {
            self.less.store(BATCH - (size * 2).min(BATCH), Ordering::Relaxed);
        }
    }

    pub(crate) fn shown(&self) -> Breaker {
        self.breaker().clone()
    }

    /// When the next call may be made, if not now.
    pub(crate) fn closed_until(&self, now: Timestamp) -> Option<Timestamp> {
        Some(self.breaker().open_until).filter(|until| *until > now)
    }

    pub(crate) fn succeeded(&self) {
        let mut breaker = self.breaker();
        if breaker.failures > 0 {
            *breaker = Breaker::default();
        }
    }

    pub(crate) fn failed(&self, now: Timestamp, error: &str) {
        let mut breaker = self.breaker();
        breaker.failures += 1;
        error.clone_into(&mut breaker.last_error);
        breaker.down_since.get_or_insert(now);
        let over = breaker.failures.saturating_sub(FAILURES);
        let wait = FIRST_WAIT.saturating_mul(1_u32.checked_shl(over).unwrap_or(u32::MAX)).min(MAX_WAIT);
        breaker.open_until = now.plus(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_that_does_not_answer_is_left_alone_longer_each_time() {
        let health = Health::default();
        let now = Timestamp(1_000_000);
        assert_eq!(health.closed_until(now), None);
        let waits = [1, 1, 1, 2, 4, 8, 16, 30, 30];
        for wait in waits {
            health.failed(now, "down");
            assert_eq!(health.closed_until(now), Some(now.plus(Duration::from_secs(wait))));
        }
        assert_eq!(health.shown().down_since, Some(now));
        health.succeeded();
        assert_eq!(health.shown(), Breaker::default());
    }

    #[test]
    fn a_batch_that_takes_too_long_is_halved_and_grows_again() {
        let health = Health::default();
        assert_eq!(health.batch(), BATCH);
        for expected in [50, 25, 12, 6, 3, 1, 1] {
            health.shrink(health.batch());
            assert_eq!(health.batch(), expected);
        }
        health.grow(1);
        assert_eq!(health.batch(), 2);
        health.grow(1);
        assert_eq!(health.batch(), 2, "it says nothing about two");
        for _ in 0..9 {
            health.grow(health.batch());
        }
        assert_eq!(health.batch(), BATCH);
    }
}
