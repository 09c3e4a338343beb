//! Outbox rows to Kafka: many keys at once, of each key one row at a time.

use std::collections::{HashMap, VecDeque};

use futures::stream::{FuturesUnordered, StreamExt as _};

use super::producer::Producer;
use crate::backend::{Leave, OutboxBatch};
use crate::{Message, Result};

/// Messages in flight at once for one shard.
const UNITS_AT_ONCE: usize = 1_000;

/// The messages that one row has for one key. They are handed to the producer together: it keeps their order.
struct Unit {
    topic: String,
    messages: Vec<Message>,
}

/// Sends all rows. After a failure nothing more is begun, and what is in flight is waited for; the caller begins again
/// at the first row, so what arrives twice arrives in order.
pub(super) async fn relay(producer: &Producer, rows: Vec<OutboxBatch>, leave: Leave<'_>) -> Result<()> {
    let mut lines = lines(rows);
    let mut running = FuturesUnordered::new();
    let mut answer = Ok(());
    let send = |line: usize, unit: Unit| async move {
        (line, producer.publish(&unit.topic, unit.messages, leave).await)
    };
    let mut next_line = 0;
    loop {
        while answer.is_ok() && running.len() < UNITS_AT_ONCE && next_line < lines.len() {
            if let Some(unit) = lines[next_line].pop_front() {
                running.push(send(next_line, unit));
            }
            next_line += 1;
        }
        let Some((line, result)) = running.next().await else { return answer };
        match result {
            Err(error) => answer = Err(error),
            Ok(_) => {
                if answer.is_ok()
                    && let Some(unit) = lines[line].pop_front()
                {
                    running.push(send(line, unit));
                }
            }
        }
    }
}

/// What waits for each key, in order. Messages without a key wait for nobody.
fn lines(rows: Vec<OutboxBatch>) -> Vec<VecDeque<Unit>> {
    let mut lines: Vec<VecDeque<Unit>> = Vec::new();
    let mut by_key: HashMap<(String, Vec<u8>), usize> = HashMap::new();
    for OutboxBatch { topic, messages, .. } in rows {
        let mut of_row: HashMap<Vec<u8>, usize> = HashMap::new();
        for message in messages {
            let unit = || Unit { topic: topic.clone(), messages: Vec::new() };
            let line = if message.key.is_empty() {
                lines.push(VecDeque::from([unit()]));
                lines.len() - 1
            } else if let Some(line) = of_row.get(&message.key) {
                *line
            } else {
                let line = *by_key.entry((topic.clone(), message.key.clone())).or_insert_with(|| {
                    lines.push(VecDeque::new());
                    lines.len() - 1
                });
                lines[line].push_back(unit());
                of_row.insert(message.key.clone(), line);
                line
            };
            if let Some(unit) = lines[line].back_mut() {
                unit.messages.push(message);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rdkafka::config::ClientConfig;

    use super::*;
    use crate::{Error, Kind};

    /// A message that waits until there is room in the producer's queue begins then, and takes its time from there.
    #[tokio::test]
    async fn what_had_to_wait_for_room_does_not_begin_without_leave() {
        let mut config = ClientConfig::new();
        // Nobody answers there, and the queue has room for one.
        config.set("bootstrap.servers", "127.0.0.1:1").set("queue.buffering.max.messages", "1");
        let producer = Producer::new(&config).unwrap();
        let messages = vec![Message::new("a", "1"), Message::new("a", "2"), Message::new("a", "3")];
        let asked = AtomicUsize::new(0);
        let leave = || match asked.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(None),
            _ => Err(Error::new(Kind::NotAssigned, "the lease ends too soon to begin")),
        };
        let rows = vec![OutboxBatch { seq: 1, topic: "t".to_owned(), messages }];
        assert!(relay(&producer, rows, &leave).await.is_err());
        assert_eq!(asked.load(Ordering::SeqCst), 2, "the second one asked before it began, and was refused");
    }

    #[test]
    fn a_key_has_one_line_and_a_row_one_unit_in_it() {
        let message = |key: &str, text: &str| Message::new(key, text.to_owned());
        let row = |seq, topic: &str, messages| OutboxBatch { seq, topic: topic.to_owned(), messages };
        let rows = vec![
            row(1, "t", vec![message("a", "1"), message("b", "2"), message("a", "3"), message("", "4")]),
            row(2, "t", vec![message("a", "5"), message("", "6")]),
            row(3, "u", vec![message("a", "7")]),
        ];
        let text = |unit: &Unit| {
            let texts: Vec<_> =
                unit.messages.iter().map(|m| String::from_utf8_lossy(&m.payload).into_owned()).collect();
            format!("{}:{}", unit.topic, texts.join(","))
        };
        let found: Vec<Vec<_>> = lines(rows).iter().map(|line| line.iter().map(text).collect()).collect();
        let expected: [&[&str]; 5] = [&["t:1,3", "t:5"], &["t:2"], &["t:4"], &["t:6"], &["u:7"]];
        assert_eq!(found, expected);
    }
}
