//! What every backend must do, as plain functions. Each works in topics of its own, so they may share a broker.
#![allow(clippy::unwrap_used, reason = "a suite of tests; it is in the library because others run it too")]

mod groups;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::timeout;

use crate::{Message, Position, Record, Subscription, Topics};

pub use groups::{
    a_group_is_redelivered_what_it_has_not_committed, a_group_that_was_moved_reads_from_there,
    readers_over_http_move_only_by_commit, two_members_share_the_partitions,
};
pub use records::{
    a_changed_number_of_partitions_is_refused, an_unknown_topic_is_said_to_be_unknown,
    messages_arrive_as_they_were_sent, records_of_a_key_keep_their_order, ten_thousand_records_arrive,
    the_ends_and_the_tail_are_known, topics_have_an_incarnation, what_was_removed_is_passed_over,
};

/// How to open the backend, and again after it was let go.
pub trait Fixture: Sync {
    fn open(&self) -> impl Future<Output = Topics> + Send;
}

/// Longest wait for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// A name that no other test uses.
fn fresh(name: &str) -> String {
    format!("{name}-{}", &kit::random_id()[..12])
}

/// Polls until `enough` says so of what has come.
async fn read_until(subscription: &mut Subscription, enough: impl Fn(&[Record]) -> bool) -> Vec<Record> {
    let mut records = Vec::new();
    while !enough(&records) {
        let polled = timeout(PATIENCE, subscription.poll()).await;
        let polled = polled.unwrap_or_else(|_| panic!("only {} records came", records.len()));
        records.extend(polled.expect("polling works"));
    }
    records
}

async fn read(subscription: &mut Subscription, count: usize) -> Vec<Record> {
    let records = read_until(subscription, |records| records.len() >= count).await;
    assert_eq!(records.len(), count, "more came than was sent");
    records
}

/// The positions behind these records.
fn positions_after(records: &[Record]) -> Vec<Position> {
    let mut next = BTreeMap::new();
    for record in records {
        next.insert(record.partition, record.offset + 1);
    }
    next.into_iter().map(|(partition, next)| Position { partition, next }).collect()
}

fn texts(records: &[Record]) -> BTreeSet<String> {
    records.iter().map(|record| String::from_utf8_lossy(&record.payload).into_owned()).collect()
}

fn numbered(numbers: std::ops::Range<usize>, keys: usize) -> Vec<Message> {
    numbers.map(|number| Message::new(format!("key-{}", number % keys), number.to_string())).collect()
}
