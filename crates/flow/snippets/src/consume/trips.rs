//! The round trips of the consumer's transaction do not grow with what it applies.

use kit::Clock;
use spine::Base;
use store::{Schema, Store};
use testing::{Counted, record, trips};
use topics::Record;

use super::*;
use crate::{Registry, Settings};

const MANY: usize = 40;
const CONFIG: &str = r#"Body { InputSameAsOutput: true Output: JSON InputTopic: "news" InputForLB: JSON KeyExtractor: "key"
  Section { Name: "item" Body { Recursive: ["full", "strict"] UploadOverLBRetryCount: 2
    Section { Name: "full" } Section { Name: "strict" Body { InputJsonSchema: "strict.json" } } } } }"#;
const STRICT: &str = r#"{"properties": {"n": {"type": "integer"}}}"#;

async fn uploader(store: &Store, folder: &std::path::Path) -> Uploader {
    let path = folder.join("config.pb.txt");
    std::fs::write(folder.join("strict.json"), STRICT).unwrap();
    std::fs::write(&path, CONFIG).unwrap();
    let registry = Registry::shipped();
    let (draft, mut prefixes) = crate::read(Some(&path), &registry).unwrap();
    prefixes.add_missing(draft.snippets());
    crate::write_prefixes(&path, &prefixes).unwrap();
    let settings = Settings { config: Some(path), ..Settings::default() };
    let base = Base::alone(store.clone(), Clock::system());
    let snippets = Snippets::open(&base, settings, registry).await.unwrap();
    Uploader { snippets, topic: "news".to_owned() }
}

#[tokio::test]
async fn messages_share_their_questions() {
    let tables = [crate::tables(), spine::tables()].concat();
    let (counted, store) = Counted::over(&Store::memory(Schema::new(tables)));
    let folder = tempfile::tempdir().unwrap();
    let handler = uploader(&store, folder.path()).await;
    let names = (0..).map(|number| format!("key-{number}"));
    let keys: Vec<_> = names.filter(|key| Shard::of(key) == Shard::of("key-0")).take(MANY).collect();
    let mut offset = 0;
    for (what, payload) in [
        ("new documents", "{\"n\": 1}"),
        ("known documents", "{\"n\": 2}"),
        ("messages that cannot be stored", "{\"n\": \"x\"}"),
        ("documents of keys with letters", "{\"n\": 3}"),
        ("deletions", ""),
    ] {
        let mut records: Vec<Record> = Vec::new();
        for key in &keys {
            offset += 1;
            records.push(record(offset, key.as_str(), payload.as_bytes().to_vec()));
        }
        let one = trips(&store, &counted, &handler, &records[..1]).await;
        let many = trips(&store, &counted, &handler, &records[1..]).await;
        assert!(many <= one + 1 && one <= 6, "{what}: {one} for one, {many} for {}", records.len() - 1);
    }
    let letters = handler.snippets.letters(None, 2 * MANY).await.unwrap();
    assert_eq!(letters.len(), MANY, "each of those that could not be stored is kept");
}
