//! How fast snippets are: over HTTP against a constant handler and against Redis, in lookups, and from a topic.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use e2e::bench::{self, Figure, Rate, TURNS, by_turns, rate};
use e2e::http::Client;
use e2e::http_pool::Pool;
use e2e::load::bare_fjall::BareFjall;
use e2e::load::{OfferRows, content};
use e2e::program::Program;
use e2e::redis::{Redis, Webdis};
use serde_json::{Value, json};

const CONNECTIONS: usize = 64;
const KEYS: u64 = 20_000;
const NAMES: [&str; 5] = ["card", "short", "price", "photos", "note"];
const LOOKUP_KEYS: u64 = 100;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Seconds of each measurement; what has a reference is measured four times.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Messages of the topic.
    #[arg(long, default_value_t = 400_000)]
    messages: u64,
    /// Only one of put, get, lookup, topic; prints and saves no table of it, for profiling.
    #[arg(long)]
    only: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Part {
    Put,
    Get,
    Lookup,
    Topic,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let time = Duration::from_secs(arguments.seconds);
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    if let Some(part) = arguments.only {
        return alone(&server, part, time, arguments.messages).await;
    }
    let mut figures = over_http(&server, folder.path(), time).await?;
    let messages = arguments.messages;
    let reference = bare(folder.path(), messages).await?;
    figures.push(from_topic(&server, messages).await?.beside(reference));
    drop(server);
    bench::print("snippets, 64 connections, load and servers on the same cores", &figures);
    bench::save("snippets", &figures)
}

/// One part without its reference.
async fn alone(server: &Server, part: Part, time: Duration, messages: u64) -> anyhow::Result<()> {
    let pool = Arc::new(Pool::new(server.snippets));
    if part != Part::Topic {
        preload(&pool, &["org", "card"]).await?;
    }
    println!("process {}", server.program.id());
    let calls = pool.clone();
    let measured = match part {
        Part::Put => puts(&pool, "card", time).await?,
        Part::Get => {
            rate(CONNECTIONS, time, move |n| call(calls.clone(), "GET", path_of_read("card", n), Vec::new()))
                .await?
        }
        Part::Lookup => lookups(&pool, time).await?,
        Part::Topic => {
            let figure = from_topic(server, messages).await?;
            bench::print("snippets, topic alone", &[figure]);
            return Ok(());
        }
    };
    println!("{part:?}: {:.0} calls/s", measured.per_second);
    Ok(())
}

fn path_of_read(name: &str, n: u64) -> String {
    format!("/{name}/{}", (n * 7_919) % KEYS)
}

async fn put(pool: Arc<Pool>, name: &str, n: u64) -> anyhow::Result<()> {
    call(pool, "PUT", format!("/{name}/{}", n % KEYS), document(n)).await
}

async fn puts(pool: &Arc<Pool>, name: &'static str, time: Duration) -> anyhow::Result<Rate> {
    let pool = pool.clone();
    rate(CONNECTIONS, time, move |n| put(pool.clone(), name, n)).await
}

async fn over_http(server: &Server, folder: &Path, time: Duration) -> anyhow::Result<Vec<Figure>> {
    let pool = Arc::new(Pool::new(server.snippets));
    let redis_folder = tempfile::tempdir_in(folder)?;
    let redis = Redis::start(redis_folder.path())?;
    let webdis = Webdis::start(redis_folder.path(), &redis)?;
    let redis_pool = Arc::new(Pool::new(webdis.address));
    preload(&pool, &["org", "card"]).await?;
    preload(&redis_pool, &["SET"]).await?;
    // In turns of a second: how fast the disk is changes within seconds.
    let turns = TURNS * time.as_secs() as usize;
    let put = async |pool, name| puts(pool, name, Duration::from_secs(1)).await;
    let (ours, theirs) =
        by_turns(turns, async || put(&pool, "card").await, async || put(&redis_pool, "SET").await).await?;
    let mut figures = vec![
        Figure::new("PUT, validated, durable; Redis, webdis", "rps", ours.per_second, "≥ 1")
            .beside(theirs.per_second)
            .with_times(&ours),
    ];
    let read = async |pool: &Arc<Pool>, path: fn(u64, usize) -> String, bytes: usize| {
        let pool = pool.clone();
        rate(CONNECTIONS, time, move |n| call(pool.clone(), "GET", path(n, bytes), Vec::new())).await
    };
    let card = |n: u64, _: usize| path_of_read("card", n);
    // The same port, frame and door, and an answer of the same size.
    let constant = |_: u64, bytes: usize| format!("/-/constant?bytes={bytes}");
    let bytes = pool.good("GET", "/card/1", b"").await?.len();
    let (ours, theirs) =
        by_turns(TURNS, async || read(&pool, card, bytes).await, async || read(&pool, constant, bytes).await)
            .await?;
    figures.push(
        Figure::new(format!("GET, {bytes} bytes; constant"), "rps", ours.per_second, "≥ 0.5, aim 0.7")
            .beside(theirs.per_second)
            .with_times(&ours),
    );
    let redis_get = read(&redis_pool, |n, _| path_of_read("GET", n), bytes).await?;
    figures.push(Figure::new("GET; Redis, webdis", "rps", ours.per_second, "-").beside(redis_get.per_second));
    let looked = lookups(&pool, time).await?;
    let documents = looked.per_second * (LOOKUP_KEYS * NAMES.len() as u64) as f64;
    figures.push(
        Figure::new("documents by lookup of 100 × 5; by GET", "docs/s", documents, "≥ 20")
            .beside(ours.per_second)
            .with_times(&looked),
    );
    Ok(figures)
}

async fn call(pool: Arc<Pool>, method: &'static str, path: String, body: Vec<u8>) -> anyhow::Result<()> {
    pool.good(method, &path, &body).await.map(drop)
}

async fn lookups(pool: &Arc<Pool>, time: Duration) -> anyhow::Result<Rate> {
    let pool = pool.clone();
    rate(CONNECTIONS, time, move |n| {
        let pool = pool.clone();
        async move {
            let keys: Vec<_> =
                (0..LOOKUP_KEYS).map(|key| ((n * 131 + key * 37) % KEYS).to_string()).collect();
            let names =
                NAMES.map(|name| if name == "card" { name.to_owned() } else { format!("org/{name}") });
            let question = json!({ "names": names, "keys": keys }).to_string();
            let answer = pool.good("POST", "/-/lookup", question.as_bytes()).await?;
            ensure!(answer.len() > 500 * 100, "a lookup found too little: {} bytes", answer.len());
            Ok(())
        }
    })
    .await
}

/// Writes every key under each of the names.
async fn preload(pool: &Arc<Pool>, names: &'static [&'static str]) -> anyhow::Result<()> {
    let keys: Vec<u64> = (0..KEYS).collect();
    let writers = keys.chunks(KEYS as usize / CONNECTIONS + 1).map(|keys| {
        let (pool, keys) = (pool.clone(), keys.to_vec());
        tokio::spawn(async move {
            for key in keys {
                for name in names {
                    pool.good("PUT", &format!("/{name}/{key}"), &document(key)).await?;
                }
            }
            Ok::<_, anyhow::Error>(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await??;
    }
    Ok(())
}

/// About half a kilobyte of JSON.
fn document(seed: u64) -> Vec<u8> {
    let text = String::from_utf8_lossy(&content(seed)[..400]).into_owned();
    json!({ "id": seed, "title": "Лампа", "price": seed % 1_000, "text": text }).to_string().into_bytes()
}

/// Fills a topic that nobody reads yet, then lets the snippets read it.
async fn from_topic(server: &Server, messages: u64) -> anyhow::Result<Figure> {
    let admin = Pool::new(server.program.http);
    admin.good("PUT", "/v1/topics/news", b"").await?;
    let mut publisher = Client::connect(server.program.http).await?;
    for first in (0..messages).step_by(500) {
        let records: Vec<Value> = (first..(first + 500).min(messages))
            .map(|n| {
                Ok(json!({"key": n.to_string(), "payload": serde_json::from_slice::<Value>(&document(n))?}))
            })
            .collect::<anyhow::Result<_>>()?;
        publisher.post("/v1/topics/news/records", &json!({ "records": records })).await?.expect(201)?;
    }
    std::fs::write(&server.config, config(true))?;
    let began = Instant::now();
    ensure!(Command::new("kill").args(["-HUP", &server.program.id().to_string()]).status()?.success());
    loop {
        let groups: Value = serde_json::from_slice(&admin.good("GET", "/v1/topics/news/groups", b"").await?)?;
        let lag = groups["items"]
            .as_array()
            .and_then(|groups| groups.first())
            .and_then(|group| group["lag"].as_u64());
        if lag == Some(0) {
            break;
        }
        ensure!(began.elapsed() < Duration::from_secs(300), "the topic is not read: {groups}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let seconds = began.elapsed().as_secs_f64();
    let pool = Pool::new(server.snippets);
    for n in [0, messages / 2, messages - 1] {
        pool.good("GET", &format!("/news/{n}"), b"").await?;
    }
    Ok(Figure::new("topic, validated; bare batch writes", "msg/s", messages as f64 / seconds, "50,000"))
}

/// The same documents, written to the bare engine in batches: messages in a second.
async fn bare(folder: &Path, messages: u64) -> anyhow::Result<f64> {
    const BATCH: u64 = 500;
    let bare = Arc::new(BareFjall::open(&folder.join("bare"))?);
    let began = Instant::now();
    let writers: Vec<_> = (0..CONNECTIONS as u64)
        .map(|writer| {
            let bare = bare.clone();
            tokio::spawn(async move {
                let own = (writer * BATCH..messages).step_by(CONNECTIONS * BATCH as usize);
                for first in own {
                    let rows: Vec<_> = (first..(first + BATCH).min(messages))
                        .map(|n| OfferRows { content: document(n), ..OfferRows::new(n % 1_024, n, 1) })
                        .collect();
                    bare.write(&rows).await?;
                }
                Ok::<_, anyhow::Error>(())
            })
        })
        .collect();
    for writer in writers {
        writer.await??;
    }
    Ok(messages as f64 / began.elapsed().as_secs_f64())
}

fn config(with_topic: bool) -> String {
    let names: Vec<_> = NAMES[1..].iter().map(|name| format!("\"{name}\"")).collect();
    let children: Vec<_> = NAMES[1..].iter().map(|name| format!("Section {{ Name: \"{name}\" }}")).collect();
    let topic = if with_topic { "InputTopic: \"news\" InputForLB: JSON KeyExtractor: \"key\"" } else { "" };
    format!(
        "Body {{ Output: JSON InputSameAsOutput: true InputJsonSchema: \"card.json\"
           Section {{ Name: \"card\" }} Section {{ Name: \"news\" Body {{ {topic} }} }}
           Section {{ Name: \"org\" Body {{ Recursive: [{}] {} }} }} }}",
        names.join(", "),
        children.join(" ")
    )
}

const SCHEMA: &str = r#"{"type": "object", "required": ["id", "title", "price"], "additionalProperties": false,
  "properties": {"id": {"type": "integer"}, "title": {"type": "string", "maxLength": 100}, "price": {"type": "number", "minimum": 0},
  "text": {"type": "string"}}}"#;

/// The real program with the configuration of this bench.
struct Server {
    program: Program,
    config: PathBuf,
    snippets: SocketAddr,
}

impl Server {
    fn start(folder: &Path) -> anyhow::Result<Self> {
        let config = folder.join("config.pb.txt");
        std::fs::write(&config, self::config(false))?;
        std::fs::write(folder.join("card.json"), SCHEMA)?;
        let numbers = "card 1\nnews 2\norg/short 3\norg/price 4\norg/photos 5\norg/note 6\n";
        std::fs::write(folder.join("key_prefixes.txt"), numbers)?;
        let flags = ["--snippets-config", config.to_str().context("a path in UTF-8")?];
        let settings = [("DVOR_LOG__LEVEL", "warn"), ("DVOR_EMBEDDED__RESERVE_BYTES", "0")];
        let program = Program::start_with(&folder.join("data"), &flags, &settings)?;
        let snippets = program.snippets.context("the program serves no snippets")?;
        Ok(Self { program, config, snippets })
    }
}
