//! The suite that every backend passes. Each check works in topics of its own, so they may share a broker.
#![allow(clippy::unwrap_used, reason = "a suite of tests; it is in the library because others run it too")]

mod groups;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kit::suite::{self, Check, Outcome};
use tokio::time::timeout;

use crate::{Message, Position, Record, Subscription, Topics};

/// How to open the backend, and again after it was let go.
pub trait Fixture: Sync {
    fn open(&self) -> impl Future<Output = Topics> + Send;
}

/// The checks for one kind of fixture.
macro_rules! checks {
    ($($module:ident::$name:ident),* $(,)?) => {
        fn checks<F: Fixture>() -> Vec<(&'static str, Check<F>)> {
            vec![$({
                let check: Check<F> = |fixture| Box::pin(async move {
                    $module::$name(fixture).await;
                    Ok(())
                });
                (stringify!($name), check)
            }),*]
        }
    };
}

checks! {
    records::records_of_a_key_keep_their_order,
    records::messages_arrive_as_they_were_sent,
    records::ten_thousand_records_arrive,
    records::the_ends_and_the_tail_are_known,
    records::topics_have_an_incarnation,
    records::what_was_removed_is_passed_over,
    records::an_unknown_topic_is_said_to_be_unknown,
    records::a_changed_number_of_partitions_is_refused,
    groups::a_group_is_redelivered_what_it_has_not_committed,
    groups::two_members_share_the_partitions,
    groups::a_group_that_was_moved_reads_from_there,
    groups::readers_over_http_move_only_by_commit,
}

/// Runs every check, `at_once` of them side by side, telling `report` of each: name, time taken, outcome. Returns how many
/// failed.
pub async fn run<F: Fixture>(
    at_once: usize,
    fixture: impl Fn() -> F,
    report: impl FnMut(&str, Duration, &Outcome),
) -> crate::Result<usize> {
    suite::run(&checks(), at_once, async || Ok(fixture()), report).await
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
