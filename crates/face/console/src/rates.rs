//! How fast topics grow, from what was seen of their ends while somebody looked. Nothing is asked when nobody does.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Samples that are kept, and the least time between two of them.
const KEPT: usize = 60;
const APART: Duration = Duration::from_secs(1);
/// A rate is told over this much of the past.
const WINDOW: Duration = Duration::from_secs(30);

/// The ends of all topics at some moments.
#[derive(Default)]
pub(crate) struct Rates(Mutex<VecDeque<(Instant, BTreeMap<String, i64>)>>);

/// How fast a topic grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rate {
    /// Records in a second, over the last half a minute; `None`: seen only once.
    pub(crate) per_second: Option<f64>,
    /// The rates between the last samples, the newest last.
    pub(crate) line: Vec<f64>,
}

impl Rates {
    /// Takes a sample and says how fast each topic grows.
    pub(crate) fn sample(&self, ends: &BTreeMap<String, i64>, now: Instant) -> BTreeMap<String, Rate> {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.back().is_none_or(|(at, _)| now.duration_since(*at) >= APART) {
            samples.push_back((now, ends.clone()));
        }
        while samples.len() > KEPT {
            samples.pop_front();
        }
        ends.keys().map(|topic| (topic.clone(), rate(&samples, topic, now))).collect()
    }
}

fn rate(samples: &VecDeque<(Instant, BTreeMap<String, i64>)>, topic: &str, now: Instant) -> Rate {
    let seen: Vec<_> = samples.iter().filter_map(|(at, ends)| Some((*at, *ends.get(topic)?))).collect();
    let slope = |(from, low): (Instant, i64), (to, high): (Instant, i64)| {
        (high - low).max(0) as f64 / to.duration_since(from).as_secs_f64().max(0.001)
    };
    let recent = seen.iter().copied().find(|(at, _)| now.duration_since(*at) <= WINDOW);
    let per_second = match (recent, seen.last().copied()) {
        (Some(first), Some(last)) if last.0 > first.0 => Some(slope(first, last)),
        _ => None,
    };
    Rate { per_second, line: seen.windows(2).map(|pair| slope(pair[0], pair[1])).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_came_in_the_last_half_minute() {
        let (rates, began) = (Rates::default(), Instant::now());
        let seen = |seconds: u64, end: i64| {
            let ends = BTreeMap::from([("t".to_owned(), end)]);
            rates.sample(&ends, began + Duration::from_secs(seconds)).remove("t").unwrap()
        };
        assert_eq!(seen(0, 5).per_second, None);
        assert_eq!(seen(10, 25), Rate { per_second: Some(2.0), line: vec![2.0] });
        // Too soon after the last sample to be one.
        assert_eq!(seen(10, 99).line, [2.0]);
        assert_eq!(seen(60, 25).per_second, None, "nobody looked for longer than the window");
        assert_eq!(seen(62, 29).per_second, Some(2.0));
    }
}
