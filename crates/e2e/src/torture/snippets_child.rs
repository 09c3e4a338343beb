//! The child of the snippets' kill test: serves snippets over HTTP and feeds their topic.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use kit::{Clock, Tasks};
use snippets::{Registry, Snippets};
use spine::Base;
use store::{Options, Schema, Store};
use topics::{Message, Topics};
use web::Access;

pub const TOPIC: &str = "news";
/// One message of this number is one that no snippet takes.
pub const BAD_EVERY: u64 = 20;

const CONFIG: &str = r#"Body { Output: JSON InputSameAsOutput: true
  Section { Name: "held" Body { InputJsonSchema: "strict.json" } }
  Section { Name: "news" Body { InputJsonSchema: "strict.json" InputTopic: "news" InputForLB: JSON
    KeyExtractor: "key" UploadOverLBRetryCount: 1 } } }"#;
const SCHEMA: &str = r#"{"required": ["n"], "properties": {"n": {"type": "integer"}}}"#;

/// Runs until it is killed. Prints `listening ADDRESS`, then `begin N` and `ack N` of each message published.
pub async fn run(folder: &Path, first: u64) -> anyhow::Result<()> {
    for (name, text) in
        [("config.pb.txt", CONFIG), ("strict.json", SCHEMA), ("key_prefixes.txt", "held 1\nnews 2\n")]
    {
        std::fs::write(folder.join(name), text)?;
    }
    let tables = [snippets::tables(), spine::tables()].concat();
    let options = Options { reserve_bytes: 0, ..Options::default() };
    let url = format!("embedded:{}", folder.join("store").display());
    let store = Store::open(&[url], Schema::new(tables), &options).await?;
    let base = Base::alone(store, Clock::system());
    base.topics.ensure(TOPIC, 4).await?;
    let settings = snippets::Settings {
        config: Some(folder.join("config.pb.txt")),
        retry_pause: Duration::from_millis(50),
    };
    let snippets = Snippets::open(&base, settings, Registry::shipped()).await?;
    snippets.start(&Tasks::default());
    let access = axum::Extension(Access::without_token("torture"));
    let routes = snippets::api::routes(snippets).layer(access);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    say(&format!("listening {}", listener.local_addr()?))?;
    tokio::spawn(publish(base.topics, first));
    Ok(axum::serve(listener, routes).await?)
}

async fn publish(topics: Topics, first: u64) -> anyhow::Result<()> {
    for number in first.. {
        say(&format!("begin {number}"))?;
        let payload = if number.is_multiple_of(BAD_EVERY) {
            format!("{{\"n\": \"{number}\"}}")
        } else {
            format!("{{\"n\": {number}}}")
        };
        topics.publish(TOPIC, vec![Message::new(key(number), payload)]).await?;
        say(&format!("ack {number}"))?;
    }
    Ok(())
}

/// A key for each message: one that is skipped leaves a hole.
pub fn key(number: u64) -> String {
    format!("m{number}")
}

/// One whole line in one write.
fn say(line: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    Ok(out.flush()?)
}
