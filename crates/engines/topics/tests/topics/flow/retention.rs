//! Old records go by themselves.

use std::time::Duration;

use kit::{Clock, Shutdown, Timestamp};
use topics::{Message, Options, Topics};

use super::{TOPIC, memory, spawn_relay, until};

#[tokio::test(start_paused = true)]
async fn records_go_by_age_and_by_size() {
    let store = memory();
    let clock = Clock::manual(Timestamp(1_000_000_000));
    let options = Options {
        retention: Duration::from_secs(3_600),
        retention_bytes: 100_000,
        clock: clock.clone(),
        ..Options::default()
    };
    let topics = Topics::alone(store, options);
    topics.ensure(TOPIC, 1).await.unwrap();
    let publish = async |count: usize, bytes: usize| {
        let messages = (0..count).map(|_| Message::new("k", vec![0; bytes - 1])).collect();
        topics.publish(TOPIC, messages).await.unwrap();
    };
    let ends = async || topics.info(TOPIC).await.unwrap().ends[0];
    let shutdown = Shutdown::new();
    let relay = spawn_relay(&topics, &shutdown);
    publish(2_000, 10).await;
    clock.advance(Duration::from_secs(1_800));
    publish(1, 10).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(ends().await.low, 0, "all is young enough");
    clock.advance(Duration::from_secs(1_801));
    until("the old ones are gone", async || ends().await.low == 2_000).await;
    publish(30, 10_000).await;
    until("the partition fits", async || ends().await.low == 2_021).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(ends().await.low, 2_021, "what fits stays");
    shutdown.call();
    relay.await.unwrap();
}
