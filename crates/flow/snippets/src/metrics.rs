//! Counters of the system, all named `snippets_…`.

use metrics::counter;

pub(crate) fn written(section: &str, how: &'static str) {
    counter!("snippets_written_total", "section" => section.to_owned(), "how" => how).increment(1);
}

pub(crate) fn refused(section: &str) {
    counter!("snippets_refused_total", "section" => section.to_owned()).increment(1);
}

pub(crate) fn from_topic(section: &str, outcome: &'static str, messages: u64) {
    counter!("snippets_messages_total", "section" => section.to_owned(), "outcome" => outcome)
        .increment(messages);
}

pub(crate) fn retried(section: &str, stored: bool) {
    let outcome = if stored { "stored" } else { "failed" };
    counter!("snippets_retries_total", "section" => section.to_owned(), "outcome" => outcome).increment(1);
}

pub(crate) fn superseded(section: &str) {
    counter!("snippets_superseded_total", "section" => section.to_owned()).increment(1);
}

pub(crate) fn swept(count: usize) {
    counter!("snippets_swept_total").increment(count as u64);
}

pub(crate) fn reloaded(well: bool) {
    let outcome = if well { "done" } else { "refused" };
    counter!("snippets_reloads_total", "outcome" => outcome).increment(1);
}
