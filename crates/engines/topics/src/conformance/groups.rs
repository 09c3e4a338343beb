use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;

use super::{Fixture, PATIENCE, fresh, numbered, positions_after, read, read_until, texts};
use crate::{Position, Record, Subscription, To};

pub(super) async fn a_group_is_redelivered_what_it_has_not_committed(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (topic, group) = (fresh("redelivery"), fresh("group"));
    topics.ensure(&topic, 2).await.unwrap();
    topics.publish(&topic, numbered(0..20, 20)).await.unwrap();
    let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
    let records = read(&mut subscription, 20).await;
    let first: Vec<Record> = records.iter().filter(|record| record.offset < 5).cloned().collect();
    let taken = subscription.commit(&positions_after(&first)).await.unwrap();
    assert_eq!(taken.len(), 2);
    drop(subscription);
    drop(topics);

    let topics = fixture.open().await;
    let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
    let again = read(&mut subscription, 20 - first.len()).await;
    assert!(again.iter().all(|record| record.offset >= 5));
    // A member may go back by itself.
    let back = Position { partition: again[0].partition, next: again[0].offset };
    subscription.seek(back).await.unwrap();
    let expected = again.iter().filter(|record| record.partition == back.partition).count();
    assert_eq!(read(&mut subscription, expected).await[0], again[0]);
    // Another group reads everything.
    let mut other = topics.subscribe(&topic, &fresh("group")).await.unwrap();
    assert_eq!(texts(&read(&mut other, 20).await), texts(&records));
    assert_eq!(topics.groups(&topic).await.unwrap().len(), 2);
}

pub(super) async fn two_members_share_the_partitions(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (topic, group) = (fresh("share"), fresh("group"));
    topics.ensure(&topic, 4).await.unwrap();
    topics.publish(&topic, numbered(0..40, 40)).await.unwrap();
    let mut one = topics.subscribe(&topic, &group).await.unwrap();
    let mut seen = read(&mut one, 40).await;
    one.commit(&positions_after(&seen)).await.unwrap();
    assert_eq!(one.assigned(), [0, 1, 2, 3]);

    let mut two = topics.subscribe(&topic, &group).await.unwrap();
    share(&mut one, &mut two).await;
    topics.publish(&topic, numbered(40..80, 40)).await.unwrap();
    let mine = one.assigned();
    let count = |records: &[Record]| -> usize { records.len() };
    let expected = 80 - count(&seen);
    let (mut of_one, mut of_two) = (Vec::new(), Vec::new());
    while of_one.len() + of_two.len() < expected {
        tokio::select! {
            records = one.poll() => of_one.extend(records.unwrap()),
            records = two.poll() => of_two.extend(records.unwrap()),
            () = tokio::time::sleep(PATIENCE) => panic!("{} + {} came", of_one.len(), of_two.len()),
        }
    }
    assert!(of_one.iter().all(|record| mine.contains(&record.partition)));
    assert!(of_two.iter().all(|record| !mine.contains(&record.partition)));
    one.commit(&positions_after(&of_one)).await.unwrap();
    seen.extend(of_one);

    // What the member that goes has not committed comes to the other.
    drop(two);
    let rest = read_until(&mut one, |records| texts(records).len() >= of_two.len()).await;
    assert_eq!(texts(&rest), texts(&of_two));
    seen.extend(rest);
    assert_eq!(texts(&seen).len(), 80);
    assert_eq!(one.assigned(), [0, 1, 2, 3]);
}

/// Polls both until each has its half.
async fn share(one: &mut Subscription, two: &mut Subscription) {
    let shared = async {
        loop {
            let _ = timeout(Duration::from_millis(100), one.poll()).await;
            let _ = timeout(Duration::from_millis(100), two.poll()).await;
            let both: BTreeSet<_> = one.assigned().into_iter().chain(two.assigned()).collect();
            if one.assigned().len() == 2 && two.assigned().len() == 2 && both.len() == 4 {
                return;
            }
        }
    };
    timeout(PATIENCE, shared).await.expect("the members share the partitions");
}

pub(super) async fn a_group_that_was_moved_reads_from_there(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (topic, group) = (fresh("rewind"), fresh("group"));
    topics.ensure(&topic, 2).await.unwrap();
    topics.publish(&topic, numbered(0..20, 20)).await.unwrap();
    let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
    let records = read(&mut subscription, 20).await;
    subscription.commit(&positions_after(&records)).await.unwrap();
    drop(subscription);

    rewind(&topics, &topic, &group, To::Start).await;
    let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
    assert_eq!(texts(&read(&mut subscription, 20).await), texts(&records));
    drop(subscription);
    rewind(&topics, &topic, &group, To::End).await;
    rewind(&topics, &topic, &group, To::Positions(vec![Position { partition: 1, next: 3 }])).await;
    let mut subscription = topics.subscribe(&topic, &group).await.unwrap();
    let expected = records.iter().filter(|record| record.partition == 1 && record.offset >= 3).count();
    let rest = read(&mut subscription, expected).await;
    assert_eq!(rest[0].offset, 3);
}

/// Leaving a group takes a moment, and a group that is read cannot always be moved.
async fn rewind(topics: &crate::Topics, topic: &str, group: &str, to: To) {
    for _ in 0..100 {
        match topics.rewind(topic, group, to.clone()).await {
            Ok(()) => return,
            Err(error) if error.to_string().contains("is being read") => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the group is never at rest");
}

pub(super) async fn readers_over_http_move_only_by_commit(fixture: &impl Fixture) {
    let topics = fixture.open().await;
    let (topic, group) = (fresh("http"), fresh("group"));
    topics.ensure(&topic, 2).await.unwrap();
    topics.publish(&topic, numbered(0..10, 10)).await.unwrap();
    let first = topics.records(&topic, &group, 4).await.unwrap();
    assert_eq!(first.len(), 4);
    assert_eq!(topics.records(&topic, &group, 4).await.unwrap(), first);
    topics.commit(&topic, &group, &positions_after(&first)).await.unwrap();
    let rest = topics.records(&topic, &group, 100).await.unwrap();
    assert_eq!(rest.len(), 6);
    topics.commit(&topic, &group, &positions_after(&rest)).await.unwrap();
    assert!(topics.records(&topic, &group, 4).await.unwrap().is_empty());
    let wrong = [Position { partition: 2, next: 0 }];
    assert_eq!(topics.commit(&topic, &group, &wrong).await.unwrap_err().kind(), crate::Kind::Invalid);
}
