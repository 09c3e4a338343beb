//! Counters of the system, all named `snippets_…`.

use std::sync::OnceLock;

use metrics::{Counter, counter};

use crate::config::Section;

/// Counters of a section that are counted so often that they are looked up once.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    put: OnceLock<Counter>,
    deleted: OnceLock<Counter>,
}

pub(crate) fn put(section: &Section) {
    section.counters.put.get_or_init(|| written(section, "put")).increment(1);
}

pub(crate) fn deleted(section: &Section) {
    section.counters.deleted.get_or_init(|| written(section, "delete")).increment(1);
}

fn written(section: &Section, how: &'static str) -> Counter {
    counter!("dvor_snippets_written_total", "section" => section.name.clone(), "how" => how)
}

pub(crate) fn refused(section: &str) {
    counter!("dvor_snippets_refused_total", "section" => section.to_owned()).increment(1);
}

pub(crate) fn from_topic(section: &str, outcome: &'static str, messages: u64) {
    counter!("dvor_snippets_messages_total", "section" => section.to_owned(), "outcome" => outcome)
        .increment(messages);
}

pub(crate) fn retried(section: &str, stored: bool) {
    let outcome = if stored { "stored" } else { "failed" };
    counter!("dvor_snippets_retries_total", "section" => section.to_owned(), "outcome" => outcome)
        .increment(1);
}

pub(crate) fn superseded(section: &str) {
    counter!("dvor_snippets_superseded_total", "section" => section.to_owned()).increment(1);
}

pub(crate) fn swept(count: usize) {
    counter!("dvor_snippets_swept_total").increment(count as u64);
}

pub(crate) fn differing(processes: usize) {
    metrics::gauge!("dvor_snippets_config_differs").set(processes as f64);
}

pub(crate) fn reloaded(well: bool) {
    let outcome = if well { "done" } else { "refused" };
    counter!("dvor_snippets_reloads_total", "outcome" => outcome).increment(1);
}
