use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use axum::http::Method;
use metrics::{Counter, Histogram};

/// Counts and times of calls by route, method and status. The metrics' own register is asked once for each of these;
/// that costs microseconds.
#[derive(Default)]
pub struct Tally(RwLock<HashMap<String, Vec<Line>>>);

struct Line {
    method: &'static str,
    status: u16,
    calls: Counter,
    seconds: Histogram,
}

impl Tally {
    pub fn note(&self, route: &str, method: &Method, status: u16, seconds: f64) {
        let method = known(method);
        let noted = {
            let lines = self.0.read().unwrap_or_else(PoisonError::into_inner);
            lines.get(route).is_some_and(|lines| note(lines, method, status, seconds))
        };
        if !noted {
            let mut lines = self.0.write().unwrap_or_else(PoisonError::into_inner);
            let lines = lines.entry(route.to_owned()).or_default();
            // Another call may have come before us.
            if !note(lines, method, status, seconds) {
                lines.push(Line::begin(route, method, status));
                note(lines, method, status, seconds);
            }
        }
    }
}

/// `false`: there is no line for it yet.
fn note(lines: &[Line], method: &'static str, status: u16, seconds: f64) -> bool {
    let line = lines.iter().find(|line| (line.method, line.status) == (method, status));
    if let Some(line) = line {
        line.calls.increment(1);
        line.seconds.record(seconds);
    }
    line.is_some()
}

impl Line {
    fn begin(route: &str, method: &'static str, status: u16) -> Self {
        let labels =
            [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        let calls = metrics::counter!("dvor_http_requests_total", &labels);
        let seconds = metrics::histogram!("dvor_http_request_seconds", &labels[..2]);
        Self { method, status, calls, seconds }
    }
}

/// A caller may invent methods; the metrics do not grow by them.
fn known(method: &Method) -> &'static str {
    let known = ["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| method == known).unwrap_or("other")
}
