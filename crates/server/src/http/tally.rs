use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use axum::http::Method;
use metrics::{Counter, Histogram};

/// Counts and times of calls by route, method and status. The metrics' own register is asked once for each of these;
/// that costs microseconds.
#[derive(Default)]
pub struct Tally(RwLock<HashMap<String, Vec<Line>>>);

#[derive(Clone)]
struct Line {
    method: &'static str,
    status: u16,
    calls: Counter,
    seconds: Histogram,
}

impl Tally {
    pub fn note(&self, route: &str, method: &Method, status: u16, seconds: f64) {
        let method = known(method);
        let found = {
            let lines = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let of_route = lines.get(route).map_or(&[][..], Vec::as_slice);
            of_route.iter().find(|line| (line.method, line.status) == (method, status)).cloned()
        };
        let line = found.unwrap_or_else(|| self.begin(route, method, status));
        line.calls.increment(1);
        line.seconds.record(seconds);
    }

    fn begin(&self, route: &str, method: &'static str, status: u16) -> Line {
        let labels =
            [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        let calls = metrics::counter!("http_requests_total", &labels);
        let seconds = metrics::histogram!("http_request_seconds", &labels[..2]);
        let line = Line { method, status, calls, seconds };
        let mut lines = self.0.write().unwrap_or_else(PoisonError::into_inner);
        lines.entry(route.to_owned()).or_default().push(line.clone());
        line
    }
}

/// A caller may invent methods; the metrics do not grow by them.
fn known(method: &Method) -> &'static str {
    let known = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}
