//! Outbox, relay and consumer over a real Kafka, which is killed meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cluster::Cluster;
use kit::{Clock, Shutdown};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use store::{FaultPlan, Faults, Store};
use topics::{Message, Options, Topics};

use crate::broker::Broker;
use crate::flow::{
    GROUP, KEYS, TOPIC, lag, lag_of, memory, numbers, seen, send, spawn_consumer, spawn_relay, until,
};

fn open(address: &str, store: &Store) -> Topics {
    let cluster = Cluster::solo(store.clone(), Clock::system());
    Topics::open(&format!("kafka://{address}"), store.clone(), cluster, Options::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_loses_nothing_and_needs_no_hand() {
    let Some(mut broker) = Broker::start("a_killed_broker_loses_nothing_and_needs_no_hand") else { return };
    let store = memory();
    let topics = open(&broker.address(), &store);
    topics.ensure(TOPIC, 4).await.unwrap();
    let (load, work) = (Shutdown::new(), Shutdown::new());
    let tasks = [spawn_relay(&topics, &work), spawn_consumer(&topics, &work)];
    let sent = Arc::new(AtomicUsize::new(0));
    let sender = tokio::spawn(send_until(store.clone(), sent.clone(), load.clone()));
    let publisher = tokio::spawn(publish_until(topics.clone(), load.clone()));

    let so_far = || sent.load(Ordering::SeqCst);
    let arrives = async |number: usize| {
        let is_there = async || first_times(&seen(&store, KEYS[0]).await).len() > number;
        until("what is sent from now on arrives", is_there).await;
    };
    for sent_while_down in [5, 150] {
        arrives(so_far() + 40).await;
        broker.kill();
        let before = so_far();
        until("others are sent", async || so_far() >= before + sent_while_down).await;
        broker = tokio::task::spawn_blocking(move || {
            broker.run();
            broker
        })
        .await
        .unwrap();
    }
    arrives(so_far()).await;
    load.call();
    sender.await.unwrap();
    let published = publisher.await.unwrap();
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent > 20, "only {sent} were sent");
    for key in KEYS {
        until("all is seen", async || first_times(&seen(&store, key).await).len() >= sent).await;
        // What the relay had to send again comes again, but nothing comes for the first time out of order.
        assert_eq!(first_times(&seen(&store, key).await), numbers(sent), "of {key}");
    }
    until("all is committed", async || lag(&topics).await == 0).await;
    work.call();
    for task in tasks {
        task.await.unwrap();
    }
    for (partition, offset, payload) in published {
        let record = topics.read(TOPIC, partition, offset, 1).await.unwrap().remove(0);
        assert_eq!(
            (record.offset, &record.payload[..]),
            (offset, payload.as_bytes()),
            "acknowledged and lost"
        );
    }
}

async fn send_until(store: Store, sent: Arc<AtomicUsize>, load: Shutdown) {
    // A key's rows go one by one, each with a round trip: a slow machine must be able to catch up.
    while load.sleep(Duration::from_millis(25)).await {
        let number = sent.fetch_add(1, Ordering::SeqCst).to_string();
        for key in KEYS {
            send(&store, key, std::slice::from_ref(&number)).await;
        }
    }
}

/// Publishes without an outbox, and gives what was acknowledged.
async fn publish_until(topics: Topics, load: Shutdown) -> Vec<(u32, i64, String)> {
    let (mut number, mut acknowledged) = (0, Vec::new());
    while load.sleep(Duration::from_millis(20)).await {
        number += 1;
        let payload = format!("!{number}");
        if let Ok(placed) = topics.publish(TOPIC, vec![Message::new("direct", payload.clone())]).await {
            acknowledged.push((placed[0].partition, placed[0].offset, payload));
        }
    }
    assert!(acknowledged.len() > 20, "only {} were published", acknowledged.len());
    acknowledged
}

/// Each payload where it came for the first time.
fn first_times(payloads: &[String]) -> Vec<String> {
    let mut firsts = BTreeMap::new();
    for (place, payload) in payloads.iter().enumerate() {
        firsts.entry(payload).or_insert(place);
    }
    let mut firsts: Vec<_> = firsts.into_iter().collect();
    firsts.sort_by_key(|(_, place)| *place);
    firsts.into_iter().map(|(payload, _)| payload.clone()).collect()
}

/// Partitions are paused, set back and resumed all the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_store_stops_partitions_and_nothing_is_lost_or_done_twice() {
    let name = "a_failing_store_stops_partitions_and_nothing_is_lost_or_done_twice";
    let Some(address) = servers::kafka(name) else { return };
    let store = memory();
    // A transaction here has some hundred reads and one commit.
    let plan = FaultPlan { error_before: 0.003, error_after: 0.3, ..FaultPlan::none(7) };
    let topics = open(&address, &store.wrapped(|engine| Faults::new(engine, plan)));
    let topic = format!("failing-{}", kit::random_id());
    topics.ensure(&topic, 4).await.unwrap();
    let shutdown = Shutdown::new();
    let consumer = {
        let (topics, topic, shutdown) = (topics.clone(), topic.clone(), shutdown.clone());
        tokio::spawn(async move {
            topics::consume::run(topics, &topic, GROUP, crate::flow::Notes, shutdown).await;
        })
    };
    for chunk in numbers(200).chunks(20) {
        let messages = chunk.iter().flat_map(|n| KEYS.map(|key| Message::new(key, n.clone()))).collect();
        topics.publish(&topic, messages).await.unwrap();
        let has_begun = async || seen(&store, KEYS[0]).await.contains(&chunk[0]);
        until("the chunk has begun to arrive", has_begun).await;
    }
    until("all is committed", async || lag_of(&topics, &topic).await == 0).await;
    shutdown.call();
    consumer.await.unwrap();
    for key in KEYS {
        assert_eq!(seen(&store, key).await, numbers(200), "of {key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_anew_is_not_skipped() {
    let Some(address) = servers::kafka("a_topic_made_anew_is_not_skipped") else { return };
    let store = memory();
    let topics = open(&address, &store);
    let topic = format!("anew-{}", kit::random_id());
    let group = format!("{GROUP}-{}", kit::random_id());
    let shutdown = Shutdown::new();
    topics.ensure(&topic, 1).await.unwrap();
    let consumer = {
        let (topics, topic, shutdown) = (topics.clone(), topic.clone(), shutdown.clone());
        tokio::spawn(async move {
            topics::consume::run(topics, &topic, &group, crate::flow::Notes, shutdown).await;
        })
    };
    let publish = async |words: &[String]| {
        let messages = words.iter().map(|word| Message::new("key", word.clone())).collect();
        topics.publish(&topic, messages).await
    };
    publish(&numbers(10)).await.unwrap();
    until("the first ten are seen", async || seen(&store, "key").await.len() >= 10).await;
    let old = topics.describe(&topic).await.unwrap();

    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &address).create().unwrap();
    admin.delete_topics(&[&topic], &AdminOptions::new()).await.unwrap();
    until("it is gone", async || topics.describe(&topic).await.is_err()).await;
    let new = topics.ensure(&topic, 1).await.unwrap();
    assert_ne!(new.incarnation, old.incarnation);
    let more: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    until("it takes messages", async || publish(&more).await.is_ok()).await;
    until("the new ones are seen", async || seen(&store, "key").await.len() >= 13).await;
    assert_eq!(seen(&store, "key").await[10..13], more);
    shutdown.call();
    consumer.await.unwrap();
}

/// A store that was restored is behind what the group has committed in Kafka: nothing may be skipped in silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_behind_the_brokers_position_reads_again_what_it_lost() {
    let name = "a_store_that_is_behind_the_brokers_position_reads_again_what_it_lost";
    let Some(address) = servers::kafka(name) else { return };
    let topic = format!("restored-{}", kit::random_id());
    let group = format!("{GROUP}-{}", kit::random_id());
    let consume = |store: &Store| {
        let (topics, topic, group) = (open(&address, store), topic.clone(), group.clone());
        let shutdown = Shutdown::new();
        let over = shutdown.clone();
        let task = tokio::spawn(async move {
            topics::consume::run(topics, &topic, &group, crate::flow::Notes, over).await;
        });
        (shutdown, task)
    };
    let store = memory();
    let topics = open(&address, &store);
    topics.ensure(&topic, 1).await.unwrap();
    let messages = numbers(10).into_iter().map(|word| Message::new("key", word)).collect();
    topics.publish(&topic, messages).await.unwrap();
    let (shutdown, task) = consume(&store);
    until("all are seen", async || seen(&store, "key").await.len() == 10).await;
    until("all is committed", async || topics.lag(&topic, &group).await.unwrap()[0].lag == 0).await;
    shutdown.call();
    task.await.unwrap();

    let restored = memory();
    let (shutdown, task) = consume(&restored);
    until("all are seen again", async || seen(&restored, "key").await.len() == 10).await;
    shutdown.call();
    task.await.unwrap();

    // The same store goes on where it was.
    let (shutdown, task) = consume(&store);
    topics.publish(&topic, vec![Message::new("key", "last")]).await.unwrap();
    until("the last is seen", async || seen(&store, "key").await.len() == 11).await;
    assert_eq!(seen(&store, "key").await.last().unwrap(), "last");
    shutdown.call();
    task.await.unwrap();
}
