use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC, in microseconds since 1970; written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Which hour since 1970 it is in.
    pub fn hour(self) -> i64 {
        self.0.div_euclid(3_600_000_000)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{}µs", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.parse::<jiff::Timestamp>()?.as_microsecond()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Tells the time: the system's, or one that a test sets and moves by hand.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Manual>>);

/// In microseconds.
#[derive(Debug, Default)]
struct Manual {
    now: AtomicI64,
    suspended: AtomicI64,
}

impl Clock {
    pub fn system() -> Self {
        Self(None)
    }

    pub fn manual(start: Timestamp) -> Self {
        Self(Some(Arc::new(Manual { now: AtomicI64::new(start.0), suspended: AtomicI64::default() })))
    }

    pub fn now(&self) -> Timestamp {
        if let Some(manual) = &self.0 {
            return Timestamp(manual.now.load(Ordering::SeqCst));
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }

    /// Moves a manual clock on; the system's cannot be moved.
    pub fn advance(&self, by: Duration) {
        if let Some(manual) = &self.0 {
            manual.now.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// How long the machine has been suspended since it was started. Neither `Instant` nor a sleep counts that time, but the
    /// world outside does.
    pub fn suspended(&self) -> Duration {
        match &self.0 {
            Some(manual) => {
                Duration::from_micros(u64::try_from(manual.suspended.load(Ordering::SeqCst)).unwrap_or(0))
            }
            None => system_suspended(),
        }
    }

    /// Suspends a manual clock's machine for a while; the system's cannot be suspended.
    pub fn suspend(&self, by: Duration) {
        self.advance(by);
        if let Some(manual) = &self.0 {
            manual.suspended.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }
}

#[cfg(target_os = "linux")]
fn system_suspended() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
    let mut suspended = Duration::ZERO;
    // Whoever is interrupted between the readings reads again.
    for _ in 0..4 {
        let awake = read(ClockId::Monotonic);
        suspended = read(ClockId::Boottime).saturating_sub(awake);
        if read(ClockId::Monotonic).saturating_sub(awake) < Duration::from_millis(1) {
            break;
        }
    }
    suspended
}

/// Elsewhere the clock of `Instant` counts it, or nobody can say.
#[cfg(not(target_os = "linux"))]
fn system_suspended() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_read_back_what_they_write() {
        let time = Timestamp(1_763_243_000_123_456);
        assert_eq!(time.to_string(), "2025-11-15T21:43:20.123456Z");
        assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = Clock::manual(Timestamp(5));
        assert_eq!(clock.now(), Timestamp(5));
        clock.advance(Duration::from_micros(7));
        assert_eq!(clock.now(), Timestamp(12));
        assert_eq!(clock.now().since(Timestamp(2)), Duration::from_micros(10));
        assert_eq!(Timestamp(2).since(clock.now()), Duration::ZERO);
    }

    #[test]
    fn a_suspended_machine_is_told_by_its_clock() {
        let clock = Clock::manual(Timestamp(5));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.suspended(), Duration::ZERO);
        clock.suspend(Duration::from_secs(2));
        assert_eq!((clock.suspended(), clock.now()), (Duration::from_secs(2), Timestamp(3_000_005)));
        let (before, after) = (Clock::system().suspended(), Clock::system().suspended());
        assert!(before.abs_diff(after) < Duration::from_secs(60), "{before:?} {after:?}");
    }
}
