//! How much of what was done.

use metrics::counter;
use wire::feeds::TaskStatus;

use crate::tasks::status_name;

pub(crate) fn task_ended(status: TaskStatus) {
    counter!("dvor_feeds_tasks_ended_total", "status" => status_name(status)).increment(1);
}

pub(crate) fn batch_sent(records: usize) {
    counter!("dvor_feeds_batches_sent_total").increment(1);
    counter!("dvor_feeds_records_sent_total").increment(records as u64);
}

pub(crate) fn fetched(outcome: &'static str) {
    counter!("dvor_feeds_fetches_total", "outcome" => outcome).increment(1);
}

pub(crate) fn webhook(outcome: &'static str) {
    counter!("dvor_feeds_webhooks_total", "outcome" => outcome).increment(1);
}
