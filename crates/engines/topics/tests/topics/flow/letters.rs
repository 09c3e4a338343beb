//! Records that cannot be applied.

use kit::Shutdown;
use store::Shard;
use topics::dead_letters::{self, Filter};
use topics::{Message, Position, To};

use super::{GROUP, KEYS, SEEN, TOPIC, lag, memory, numbers, open, seen, spawn_consumer, until};

#[tokio::test(start_paused = true)]
async fn a_bad_record_becomes_a_dead_letter_and_the_others_go_on() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, 1).await.unwrap();
    let words = ["0", "bad", "1", "!", "2"];
    let messages = words.iter().flat_map(|word| KEYS.map(|key| Message::new(key, *word))).collect();
    topics.publish(TOPIC, messages).await.unwrap();
    let shutdown = Shutdown::new();
    let consumer = spawn_consumer(&topics, &shutdown);
    for key in KEYS {
        until("the good ones are seen", async || seen(&store, key).await.len() >= 3).await;
        assert_eq!(seen(&store, key).await, numbers(3));
    }
    until("nothing is left", async || lag(&topics).await == 0).await;
    let letters = dead_letters::list(&topics, &Filter::default(), None, 100).await.unwrap();
    assert_eq!(letters.len(), 10);
    let found: Vec<_> = letters.iter().map(|l| (l.id.offset, l.reason.as_str(), l.attempts)).collect();
    assert_eq!(found[0], (5, "bad is bad", 10));
    assert_eq!(found[9], (19, "it says nothing", 1));

    // In pages, and by group.
    let filter = Filter { group: Some(GROUP.to_owned()), topic: Some(TOPIC.to_owned()) };
    let page = dead_letters::list(&topics, &filter, Some(&letters[3].id), 4).await.unwrap();
    assert_eq!(page, letters[4..8]);
    let other = Filter { group: Some("other".to_owned()), topic: None };
    assert_eq!(dead_letters::list(&topics, &other, None, 4).await.unwrap(), []);

    // Thrown away.
    assert!(dead_letters::drop(&topics, &letters[9].id).await.unwrap());
    assert!(!dead_letters::drop(&topics, &letters[9].id).await.unwrap());
    assert_eq!(dead_letters::record(&topics, &letters[9].id).await.unwrap(), None);
    assert!(!dead_letters::retry(&topics, &letters[9].id).await.unwrap());
    shutdown.call();
    consumer.await.unwrap();
}

/// Neither ends its consumer, which would meet it again in its next life.
#[tokio::test(start_paused = true)]
async fn a_record_on_which_the_program_panics_becomes_a_dead_letter() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, 1).await.unwrap();
    let words = ["0", "panic", "1", "?panic", "2"];
    let messages = words.map(|word| Message::new("seller-1", word)).into();
    topics.publish(TOPIC, messages).await.unwrap();
    let shutdown = Shutdown::new();
    let consumer = spawn_consumer(&topics, &shutdown);
    until("the good ones are seen", async || seen(&store, "seller-1").await == numbers(3)).await;
    until("nothing is left", async || lag(&topics).await == 0).await;
    let letters = dead_letters::list(&topics, &Filter::default(), None, 100).await.unwrap();
    let found: Vec<_> = letters.iter().map(|l| (l.id.offset, l.reason.as_str())).collect();
    let reason = "the program failed on it: on purpose";
    assert_eq!(found, [(1, reason), (3, reason)]);
    shutdown.call();
    consumer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_is_retried_by_whoever_reads_its_partition() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, 2).await.unwrap();
    topics
        .publish(TOPIC, vec![Message::new("seller-1", "bad"), Message::new("seller-1", "0")])
        .await
        .unwrap();
    let shutdown = Shutdown::new();
    let consumer = spawn_consumer(&topics, &shutdown);
    let letters = async || dead_letters::list(&topics, &Filter::default(), None, 9).await.unwrap();
    until("it is buried", async || letters().await.len() == 1).await;
    until("the other one is seen", async || seen(&store, "seller-1").await == ["0"]).await;
    let letter = letters().await.remove(0);
    assert_eq!(dead_letters::record(&topics, &letter.id).await.unwrap().unwrap().payload, "bad");

    // It is still bad.
    assert!(dead_letters::retry(&topics, &letter.id).await.unwrap());
    until("it failed again", async || letters().await[0].attempts == 11).await;
    // Now the consumer has learnt.
    let mend = async |tx: &mut store::Tx| tx.put(&SEEN, ("mended", 0_i64), &"yes".to_owned());
    store.transact(Shard::of("seller-1"), mend).await.unwrap();
    assert!(dead_letters::retry(&topics, &letter.id).await.unwrap());
    until("it is gone", async || letters().await.is_empty()).await;
    assert_eq!(seen(&store, "seller-1").await, ["0", "bad"]);
    shutdown.call();
    consumer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_rewound_applies_again_and_only_what_lies_behind() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, 1).await.unwrap();
    let message = |number: String| Message::new("seller-1", number);
    topics.publish(TOPIC, numbers(10).into_iter().map(message).collect()).await.unwrap();
    let shutdown = Shutdown::new();
    let consumer = spawn_consumer(&topics, &shutdown);
    until("all is seen and committed", async || seen(&store, "seller-1").await.len() == 10).await;
    until("all is committed", async || lag(&topics).await == 0).await;
    topics.rewind(TOPIC, GROUP, To::Positions(vec![Position { partition: 0, next: 7 }])).await.unwrap();
    until("it is seen again", async || seen(&store, "seller-1").await.len() >= 13).await;
    until("all is committed again", async || lag(&topics).await == 0).await;
    let mut expected = numbers(10);
    expected.extend(["7", "8", "9"].map(str::to_owned));
    assert_eq!(seen(&store, "seller-1").await, expected);
    shutdown.call();
    consumer.await.unwrap();
}
