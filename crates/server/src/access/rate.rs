use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use web::{Code, Problem, Result};

const MAX_BUCKETS: usize = 50_000;

/// A bucket of calls per access token of this process: filled evenly, emptied by calls.
pub struct Rates {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// No limit when `per_second` is 0.
    pub fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second: f64::from(per_second), burst: f64::from(burst.max(1)), buckets: Mutex::default() }
    }

    /// Takes one call out of the token's bucket.
    pub fn take(&self, token: &str) -> Result<()> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            // A bucket untouched for as long as it takes to fill is full, and so is a new one.
            let full = Duration::from_secs_f64(self.burst / self.per_second);
            buckets.retain(|_, bucket| now - bucket.at < full);
        }
        let bucket = match buckets.get_mut(token) {
            Some(bucket) => bucket,
            None => buckets.entry(token.to_owned()).or_insert(Bucket { left: self.burst, at: now }),
        };
        bucket.left = (bucket.left + (now - bucket.at).as_secs_f64() * self.per_second).min(self.burst);
        bucket.at = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        let wait = Duration::from_secs_f64((1.0 - bucket.left) / self.per_second);
        let detail = format!("this access token may make {} calls a second", self.per_second);
        Err(Problem { retry_after: Some(wait), ..Problem::new(Code::TooManyRequests, detail) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_through_then_the_rate_holds() {
        let rates = Rates::new(10, 5);
        let passed = |token| (0..20).filter(|_| rates.take(token).is_ok()).count();
        assert_eq!((passed("a"), passed("b")), (5, 5));
        let wait = rates.take("a").unwrap_err().retry_after.unwrap();
        assert!(wait <= Duration::from_millis(100), "{wait:?}");
        tokio::time::advance(Duration::from_millis(310)).await;
        assert_eq!(passed("a"), 3);
        assert!((0..9_999).all(|_| Rates::new(0, 1).take("a").is_ok()));
    }
}
