use std::collections::{BTreeMap, BTreeSet};

use super::{Fixture, fresh, numbered, positions_after, read, texts};
use crate::{Kind, Message, Position, partition};

pub(super) async fn records_of_a_key_keep_their_order(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("order");
    topics.ensure(&topic, 4).await.unwrap();
    for start in (0..300).step_by(30) {
        let messages = numbered(start..start + 30, 7);
        let keys: Vec<_> = messages.iter().map(|message| message.key.clone()).collect();
        let placed = topics.publish(&topic, messages).await.unwrap();
        let expected: Vec<_> = keys.iter().map(|key| partition::of(key, 4)).collect();
        assert_eq!(placed.iter().map(|place| place.partition).collect::<Vec<_>>(), expected);
    }
    let mut subscription = topics.subscribe(&topic, &fresh("group")).await.unwrap();
    let records = read(&mut subscription, 300).await;
    let mut last_offset: BTreeMap<u32, i64> = BTreeMap::new();
    let mut last_of_key: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for record in records {
        let last = last_offset.insert(record.partition, record.offset).unwrap_or(-1);
        assert_eq!(record.offset, last + 1, "offsets grow one by one");
        let number = String::from_utf8_lossy(&record.payload).parse().unwrap();
        let last = last_of_key.insert(record.key, number);
        assert!(last.is_none_or(|last| last < number), "{number} came after {last:?}");
    }
}

pub(super) async fn messages_arrive_as_they_were_sent(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("messages");
    topics.ensure(&topic, 1).await.unwrap();
    let large: Vec<u8> = (0..1 << 20).map(|byte: u32| (byte % 251) as u8).collect();
    let messages = vec![
        Message::new("key", "payload")
            .header("name", "value")
            .header("name", vec![0, 255])
            .header("empty", ""),
        Message::new("empty payload", ""),
        Message::new("", "no key"),
        Message::new(vec![0, 159, 146, 150], vec![0, 0xff, 0]),
        Message::new("large", large),
    ];
    let placed = topics.publish(&topic, messages.clone()).await.unwrap();
    assert_eq!(placed.iter().map(|place| place.offset).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let mut subscription = topics.subscribe(&topic, &fresh("group")).await.unwrap();
    let records = read(&mut subscription, messages.len()).await;
    for (record, message) in records.iter().zip(&messages) {
        assert_eq!(record.key, message.key);
        assert_eq!(record.headers, message.headers);
        assert!(record.payload == message.payload, "the payload of {:?} changed", message.key);
        assert!(record.timestamp.0 > 0);
    }
    let too_large = Message::new("key", vec![0; crate::MAX_MESSAGE_BYTES]);
    assert_eq!(topics.publish(&topic, vec![too_large]).await.unwrap_err().kind(), Kind::Invalid);
    let largest = Message::new("", vec![0; crate::MAX_MESSAGE_BYTES]);
    topics.publish(&topic, vec![largest]).await.unwrap();
}

pub(super) async fn ten_thousand_records_arrive(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("many");
    topics.ensure(&topic, 8).await.unwrap();
    for start in (0..10_000).step_by(1_000) {
        topics.publish(&topic, numbered(start..start + 1_000, 500)).await.unwrap();
    }
    let mut subscription = topics.subscribe(&topic, &fresh("group")).await.unwrap();
    let records = read(&mut subscription, 10_000).await;
    assert_eq!(texts(&records).len(), 10_000);
    assert_eq!(records.iter().map(|record| record.partition).collect::<BTreeSet<_>>().len(), 8);
    subscription.commit(&positions_after(&records)).await.unwrap();
    let lag = topics.lag(&topic, subscription.group()).await.unwrap();
    assert_eq!(lag.iter().map(|lag| lag.lag).sum::<i64>(), 0);
}

pub(super) async fn the_ends_and_the_tail_are_known(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("ends");
    topics.ensure(&topic, 1).await.unwrap();
    topics.publish(&topic, numbered(0..50, 3)).await.unwrap();
    let info = topics.info(&topic).await.unwrap();
    assert_eq!((info.ends[0].low, info.ends[0].high), (0, 50));
    let tail = topics.tail(&topic, 3).await.unwrap();
    assert_eq!(tail.iter().map(|record| record.offset).collect::<Vec<_>>(), [47, 48, 49]);
    let some = topics.read(&topic, 0, 10, 5).await.unwrap();
    assert_eq!(some.iter().map(|record| record.offset).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
    assert!(topics.read(&topic, 0, 50, 5).await.unwrap().is_empty());
    assert_eq!(topics.read(&topic, 1, 0, 5).await.unwrap_err().kind(), Kind::Invalid);
    assert!(topics.list().await.unwrap().contains(&info));
    drop(topics);

    let topics = fixture.open().await;
    let placed = topics.publish(&topic, numbered(50..51, 3)).await.unwrap();
    assert_eq!(placed[0].offset, 50, "offsets go on growing after a restart");
}

pub(super) async fn what_was_removed_is_passed_over(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (topic, group) = (fresh("removed"), fresh("group"));
    topics.ensure(&topic, 1).await.unwrap();
    topics.publish(&topic, numbered(0..50, 3)).await.unwrap();
    topics.commit(&topic, &group, &[Position { partition: 0, next: 10 }]).await.unwrap();
    topics.trim(&topic, &[Position { partition: 0, next: 30 }]).await.unwrap();
    let ends = topics.info(&topic).await.unwrap().ends;
    assert_eq!((ends[0].low, ends[0].high), (30, 50));
    assert_eq!(topics.read(&topic, 0, 0, 1).await.unwrap()[0].offset, 30);
    for group in [group, fresh("new")] {
        assert_eq!(topics.lag(&topic, &group).await.unwrap()[0].lag, 20);
        let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
        assert_eq!(read(&mut subscription, 20).await[0].offset, 30);
    }
    topics.trim(&topic, &[Position { partition: 0, next: 50 }]).await.unwrap();
    assert_eq!(topics.publish(&topic, numbered(50..51, 3)).await.unwrap()[0].offset, 50);
    let error = topics.trim(&topic, &[Position { partition: 0, next: 90 }]).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
}

pub(super) async fn topics_have_an_incarnation(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (one, other) = (fresh("one"), fresh("other"));
    let made = topics.ensure(&one, 2).await.unwrap();
    assert!(!made.incarnation.is_empty());
    assert_ne!(topics.ensure(&other, 2).await.unwrap().incarnation, made.incarnation);
    drop(topics);
    let topics = fixture.open().await;
    assert_eq!(topics.describe(&one).await.unwrap(), made);
    assert_eq!(topics.ensure(&one, 2).await.unwrap(), made);
}

pub(super) async fn an_unknown_topic_is_said_to_be_unknown(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("unknown");
    let kind = |error: crate::Error| error.kind();
    assert_eq!(topics.describe(&topic).await.map_err(kind), Err(Kind::UnknownTopic));
    assert_eq!(topics.publish(&topic, numbered(0..1, 1)).await.map_err(kind), Err(Kind::UnknownTopic));
    assert_eq!(topics.subscribe(&topic, "group").await.map(drop).map_err(kind), Err(Kind::UnknownTopic));
    assert_eq!(topics.read(&topic, 0, 0, 1).await.map_err(kind), Err(Kind::UnknownTopic));
    assert_eq!(topics.ensure("not a name", 1).await.map_err(kind), Err(Kind::Invalid));
}

pub(super) async fn a_changed_number_of_partitions_is_refused(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let topic = fresh("partitions");
    topics.ensure(&topic, 3).await.unwrap();
    let error = topics.ensure(&topic, 4).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Incompatible);
    assert!(error.to_string().contains("has 3 partitions"), "{error}");
}
