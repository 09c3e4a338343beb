//! What is counted.

use ::metrics::{counter, gauge};

/// Messages appended, by `publish` or by the relay.
pub(crate) fn published(topic: &str, messages: usize) {
    counter!("dvor_topics_published_total", "topic" => topic.to_owned()).increment(messages as u64);
}

/// Records given to readers, repeats included.
pub(crate) fn consumed(topic: &str, group: &str, records: usize) {
    counter!("dvor_topics_consumed_total", "topic" => topic.to_owned(), "group" => group.to_owned())
        .increment(records as u64);
}

/// What a group has not committed, in the partitions that this process reads.
pub(crate) fn lag(topic: &str, group: &str, records: i64) {
    gauge!("dvor_topics_lag", "topic" => topic.to_owned(), "group" => group.to_owned()).set(records as f64);
}

pub(crate) fn dead_letter(topic: &str, group: &str) {
    counter!("dvor_topics_dead_letters_total", "topic" => topic.to_owned(), "group" => group.to_owned())
        .increment(1);
}

/// A partition stopped at a record that could not be applied yet.
pub(crate) fn stopped(topic: &str, group: &str) {
    counter!("dvor_topics_stopped_total", "topic" => topic.to_owned(), "group" => group.to_owned())
        .increment(1);
}

/// A partition is read again from where the store has come to, since the broker's position was ahead of it.
pub(crate) fn went_back(topic: &str, group: &str) {
    counter!("dvor_topics_went_back_total", "topic" => topic.to_owned(), "group" => group.to_owned())
        .increment(1);
}

/// Records were removed before a group had read them.
pub(crate) fn gap(topic: &str, group: &str) {
    counter!("dvor_topics_gaps_total", "topic" => topic.to_owned(), "group" => group.to_owned()).increment(1);
}

pub(crate) fn consumer_failed(topic: &str, group: &str) {
    counter!("dvor_topics_consumer_failures_total", "topic" => topic.to_owned(), "group" => group.to_owned())
        .increment(1);
}

/// Rows that wait in the outboxes of the shards that this process relays.
pub(crate) fn outbox(rows: i64) {
    gauge!("dvor_topics_outbox_rows").set(rows as f64);
}

pub(crate) fn relay_failed() {
    counter!("dvor_topics_relay_failures_total").increment(1);
}

/// Records that retention took.
pub(crate) fn removed(topic: &str, records: usize) {
    counter!("dvor_topics_removed_total", "topic" => topic.to_owned()).increment(records as u64);
}
