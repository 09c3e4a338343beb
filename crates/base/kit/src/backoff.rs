use std::time::Duration;

use rand::RngExt as _;

/// Waiting times that double from `first` to `most`, each shortened by up to a quarter at random, so that
/// many who failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, failures: 0 }
    }

    /// The wait before the next try, counting this call as one failure.
    pub fn next_wait(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        doubled.min(self.most).mul_f64(rand::rng().random_range(0.75..=1.0))
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }

    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_limit_and_starts_anew_after_success() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let waits: Vec<_> = (0..40).map(|_| backoff.next_wait().as_millis()).collect();
        for (wait, full) in waits.iter().zip([100, 200, 400, 800, 1000, 1000]) {
            assert!((full * 3 / 4..=full).contains(wait), "{wait} is not within a quarter below {full}");
        }
        assert!(waits[39] <= 1000);
        backoff.reset();
        assert!(backoff.next_wait() <= Duration::from_millis(100));
    }
}
