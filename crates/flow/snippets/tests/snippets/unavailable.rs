//! What a process lacks for the moment is not the content's fault: callers are told so, and messages lose nothing by it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::json;
use snippets::{Content, Invalid, Refusal, Registry, Validator};
use topics::Message;

use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Well,
    Bad,
    Away,
}

/// Answers as it was told to, and in the end always the same.
#[derive(Clone)]
struct Moody(Arc<Mutex<VecDeque<Mood>>>);

impl Moody {
    fn new(moods: &[Mood]) -> Self {
        Self(Arc::new(Mutex::new(moods.iter().copied().collect())))
    }

    fn becomes(&self, mood: Mood) {
        *self.0.lock().unwrap() = VecDeque::from([mood]);
    }

    fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    async fn world(&self, retries: u32) -> World {
        let config = format!(
            r#"Body {{ InputSameAsOutput: true Output: JSON SpecialValidator: "moody"
              InputTopic: "news" InputForLB: JSON KeyExtractor: "key" UploadOverLBRetryCount: {retries}
              Section {{ Name: "a" }} }}"#
        );
        let moody = self.clone();
        let registry = Registry::shipped().with_validator("moody", move |_| Ok(Arc::new(moody.clone())));
        let world = World::with(&config, registry).await;
        world.topics.ensure("news", 1).await.unwrap();
        world
    }
}

impl Validator for Moody {
    fn validate(&self, _: &Content) -> Result<(), Refusal> {
        let mut moods = self.0.lock().unwrap();
        let mood = if moods.len() > 1 { moods.pop_front() } else { moods.front().copied() };
        match mood.unwrap() {
            Mood::Well => Ok(()),
            Mood::Bad => Err(Invalid::new("bad").into()),
            Mood::Away => Err(Refusal::Unavailable("away".to_owned())),
        }
    }
}

#[tokio::test]
async fn a_caller_is_told_to_come_again() {
    let moody = Moody::new(&[Mood::Away, Mood::Well]);
    let world = moody.world(0).await;
    let answer = world.put("/a/1", "1").await.is(503);
    assert_eq!(answer["detail"], "a: away");
    world.put("/a/1", "1").await.is(200);
}

#[tokio::test]
async fn a_message_waits_in_its_topic() {
    let moody = Moody::new(&[Mood::Away, Mood::Away, Mood::Well]);
    let world = moody.world(0).await;
    world.topics.publish("news", vec![Message::new("k", "1")]).await.unwrap();
    world.start();
    world.becomes("/a/k", r#"{"a":1}"#).await;
    world.letters(0, 0).await;
}

#[tokio::test]
async fn a_letter_loses_no_attempt() {
    let moody = Moody::new(&[Mood::Bad, Mood::Away, Mood::Away]);
    let world = moody.world(1).await;
    world.topics.publish("news", vec![Message::new("k", "1")]).await.unwrap();
    world.start();
    world.until(|| async { if moody.left() == 1 { Ok(()) } else { Err("no try".to_owned()) } }).await;
    let letters = world.letters(1, 0).await;
    assert_eq!((&letters[0]["attempts"], &letters[0]["reason"]), (&json!(1), &json!("a: bad")));
    let retry = format!("/-/dead-letters/{}/retry", letters[0]["id"].as_str().unwrap());
    world.call("POST", &retry, &[], "").await.is(503);
    assert_eq!(world.letters(1, 0).await[0]["attempts"], 1);
    moody.becomes(Mood::Well);
    world.call("POST", &retry, &[], "").await.is(204);
    world.becomes("/a/k", r#"{"a":1}"#).await;
    world.letters(0, 0).await;
}
