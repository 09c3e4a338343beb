//! Feeds that are fetched, from a server on loopback that the test has allowed; and webhooks to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use feeds::config::Settings;
use feeds::loader::DueFeeds;
use feeds::webhooks::Webhooks;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wire::feeds::{FeedSettings, OnMissing, TaskSource, TaskStatus};

use crate::world::{World, goods, many, seller};

/// What the shop's server says, and what it was asked.
#[derive(Default)]
struct Shop {
    body: String,
    etag: String,
    status: u16,
    /// Bytes that are announced and never come.
    missing: usize,
    requests: Vec<String>,
}

struct Server {
    shop: Arc<Mutex<Shop>>,
    address: std::net::SocketAddr,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shop = Arc::new(Mutex::new(Shop { status: 200, ..Shop::default() }));
        let served = shop.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !whole(&request) && stream.read_buf(&mut request).await.unwrap() > 0 {}
                let answer = answer(&mut served.lock().unwrap(), String::from_utf8(request).unwrap());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { shop, address }
    }

    fn say(&self, body: &str, etag: &str) {
        let mut shop = self.shop.lock().unwrap();
        (shop.body, shop.etag) = (body.to_owned(), etag.to_owned());
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shop.lock().unwrap().requests)
    }

    fn url(&self) -> String {
        format!("http://user:word@{}/feed.json?key=secret", self.address)
    }
}

/// The head is there, and as much body as it announces.
fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn answer(shop: &mut Shop, request: String) -> String {
    let known = !shop.etag.is_empty() && request.contains(&format!("if-none-match: {}", shop.etag));
    shop.requests.push(request);
    if known {
        return "HTTP/1.1 304 Not Modified\r\ncontent-length: 0\r\n\r\n".to_owned();
    }
    let (status, length) = (shop.status, shop.body.len() + shop.missing);
    let etag = if shop.etag.is_empty() { String::new() } else { format!("etag: {}\r\n", shop.etag) };
    format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{etag}connection: close\r\n\r\n{}", shop.body)
}

async fn put(world: &World, settings: FeedSettings) {
    let default = feeds::feed::default_settings(&world.feeds);
    let settings = FeedSettings {
        period_minutes: default.period_minutes,
        guard_percent: default.guard_percent,
        ..settings
    };
    feeds::feed::put(&world.feeds, &seller(), settings).await.unwrap();
}

/// The loads of the feed, newest first.
async fn loads(world: &World) -> Vec<feeds::history::Load> {
    feeds::history::loads(&world.feeds, &seller(), None, 10).await.unwrap()
}

async fn fetch(world: &World) -> usize {
    world.run_due(&DueFeeds(world.feeds.clone())).await
}

#[tokio::test]
async fn a_feed_is_fetched_by_its_period_and_unchanged_content_is_not_processed() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&goods(&[("1", "Drill", 100), ("2", "Saw", 200)]), "\"v1\"");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    assert_eq!(fetch(&world).await, 1);
    assert_eq!(fetch(&world).await, 0, "not before its period");
    world.process().await;
    let first = world.ended(&key, 1).await;
    assert_eq!(
        (first.task.status(), first.task.source()),
        (TaskStatus::TaskSucceeded, TaskSource::SourceUrl)
    );
    assert!(!first.task.source_name.contains("word") && !first.task.source_name.contains("secret"));
    let asked = server.asked();
    assert!(asked[0].contains("authorization: Basic") && !asked[0].contains("if-none-match"));

    // By its period: not modified, twice, which is one row of the history.
    for _ in 0..2 {
        world.feeds.clock.advance(Duration::from_secs(4 * 3_600));
        assert_eq!(fetch(&world).await, 1);
    }
    assert!(server.asked().iter().all(|request| request.contains("if-none-match: \"v1\"")));
    let history = loads(&world).await;
    assert_eq!(
        (history.len(), history[0].task.status(), history[0].task.repeats),
        (2, TaskStatus::TaskUnchanged, 2)
    );

    // Now, with the same content under another tag.
    server.say(&goods(&[("1", "Drill", 100), ("2", "Saw", 200)]), "\"v2\"");
    feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
    assert_eq!(fetch(&world).await, 1);
    assert_eq!(loads(&world).await[0].task.repeats, 3);

    // A change: exactly what changed changes, and what is gone goes.
    server.say(&goods(&[("1", "Drill", 150)]), "\"v3\"");
    feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
    fetch(&world).await;
    world.process().await;
    let changed = world.ended(&key, 3).await;
    let tally = changed.statistics.tally.unwrap();
    assert_eq!((tally.updated, tally.deleted, tally.created), (1, 1, 0));

    // Other settings: the same content is processed again.
    put(
        &world,
        FeedSettings {
            url: server.url(),
            on_missing: OnMissing::MakeManual.into(),
            ..FeedSettings::default()
        },
    )
    .await;
    feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
    fetch(&world).await;
    assert_eq!(loads(&world).await[0].task.status(), TaskStatus::TaskQueued);
}

fn prices(price: i64) -> String {
    goods(&[("1", "Drill", price), ("2", "Saw", price)])
}

/// Fetches what the server says now.
async fn fetch_now(world: &World) {
    feeds::feed::fetch_now(&world.feeds, &seller()).await.unwrap();
    assert_eq!(fetch(world).await, 1);
}

#[tokio::test]
async fn a_file_restored_after_a_load_that_was_cancelled_half_way_is_loaded_again() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&prices(100), "\"v1\"");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    fetch(&world).await;
    world.process().await;
    world.ended(&key, 1).await;
    let good = world.offers.state(&key, |state| state.live.clone());

    server.say(&prices(999), "\"v2\"");
    fetch_now(&world).await;
    let taken = feeds::processor::take(&world.feeds, &key, 2).await.unwrap().unwrap();
    let sent = feeds::processor::send(&world.feeds, &taken).await.unwrap();
    let feeds::processor::Sent::Whole(whole) = sent else { panic!("a good file is sent whole") };
    feeds::decide::cancel(&world.feeds, &key, 2).await.unwrap();
    feeds::processor::finish(&world.feeds, &taken, whole).await.unwrap();
    world.offers_become(&key, |state| state.live != good).await;

    server.say(&prices(100), "\"v1\"");
    fetch_now(&world).await;
    world.process().await;
    let load = world.ended(&key, 3).await;
    assert_eq!((load.task.status(), load.statistics.tally.unwrap().updated), (TaskStatus::TaskSucceeded, 2));
    assert_eq!(world.offers.state(&key, |state| state.live.clone()), good);
    fetch_now(&world).await;
    assert_eq!(loads(&world).await[0].task.status(), TaskStatus::TaskUnchanged, "it is known again");
}

#[tokio::test]
async fn a_file_restored_while_another_one_waits_or_begins_is_loaded_behind_it() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&prices(100), "\"v1\"");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    fetch(&world).await;
    world.process().await;
    world.ended(&key, 1).await;
    let good = world.offers.state(&key, |state| state.live.clone());

    server.say(&prices(200), "\"v2\"");
    fetch_now(&world).await;
    server.say(&prices(100), "\"v1\"");
    fetch_now(&world).await;
    assert_eq!(loads(&world).await[0].task.status(), TaskStatus::TaskQueued, "load 2 comes between");
    world.process().await;
    world.ended(&key, 3).await;
    assert_eq!(world.offers.state(&key, |state| state.live.clone()), good);

    // Load 2 begins once more while the server says that nothing changed.
    feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
    let taken = feeds::loader::take(&world.feeds, &key).await.unwrap().unwrap();
    let fetched = feeds::loader::fetch(&world.feeds, &taken).await.unwrap();
    assert!(matches!(fetched, feeds::loader::Fetched::NotModified));
    let rerun = feeds::follow_up::rerun(&world.feeds, &key, 2).await.unwrap();
    world.process().await;
    world.ended(&key, rerun).await;
    assert!(feeds::loader::settle(&world.feeds, &taken, &fetched).await.unwrap());
    assert_eq!(loads(&world).await[0].task_id, rerun, "what was said no longer holds");
    assert_eq!(fetch(&world).await, 1, "so it is asked at once");
    world.process().await;
    world.ended(&key, rerun + 1).await;
    assert_eq!(world.offers.state(&key, |state| state.live.clone()), good);
}

/// The history's newest row is then a fetch that brought nothing, which is no newer load.
#[tokio::test]
async fn a_fetch_that_fails_during_a_load_does_not_stop_its_follow_up() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&prices(100), "");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    fetch(&world).await;
    world.process().await;
    world.ended(&key, 1).await;
    world.offers.state(&key, |state| state.live.remove("2"));

    server.say(&(prices(100) + &goods(&[("3", "Axe", 300)])), "");
    fetch_now(&world).await;
    server.shop.lock().unwrap().status = 404;
    fetch_now(&world).await;
    assert_eq!(loads(&world).await[0].task.status(), TaskStatus::TaskFailed);
    world.process().await;
    assert_eq!(world.ended(&key, 2).await.statistics.content_needed, 1);
    world.process().await;
    let follow_up = world.ended(&key, 4).await;
    assert_eq!(follow_up.task.source(), TaskSource::SourceFollowUp);
    assert_eq!(world.offers.live(&key), ["1", "2", "3"]);
}

#[tokio::test]
async fn failures_back_off_are_shown_and_take_nothing_away() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&many(0..30), "");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    fetch(&world).await;
    world.process().await;
    world.ended(&key, 1).await;

    // A body shorter than announced is never a file.
    server.shop.lock().unwrap().missing = 10;
    world.feeds.clock.advance(Duration::from_secs(4 * 3_600));
    fetch(&world).await;
    let history = loads(&world).await;
    assert_eq!(history[0].task.status(), TaskStatus::TaskFailed);
    assert_eq!(history[0].task.error.as_ref().unwrap().code, "fetch_truncated");
    let view = feeds::history::feed(&world.feeds, &key).await.unwrap();
    let wait = view.loader.as_ref().unwrap().next_fetch_at - world.feeds.clock.now().0;
    assert_eq!((view.loader.unwrap().failures, wait / 60_000_000), (1, 15));

    server.shop.lock().unwrap().status = 404;
    world.feeds.clock.advance(Duration::from_secs(15 * 60));
    fetch(&world).await;
    world.feeds.clock.advance(Duration::from_secs(30 * 60));
    fetch(&world).await;
    let history = loads(&world).await;
    assert_eq!((history.len(), history[0].task.repeats), (3, 2));
    assert_eq!(world.offers.live(&key).len(), 30);
}

#[tokio::test]
async fn a_private_address_is_not_fetched() {
    let world = World::new().await;
    let url = "http://169.254.169.254/latest/meta-data".to_owned();
    put(&world, FeedSettings { url, ..FeedSettings::default() }).await;
    fetch(&world).await;
    let history = loads(&world).await;
    assert_eq!(history[0].task.error.as_ref().unwrap().code, "fetch_forbidden_address");
}

#[tokio::test]
async fn a_feed_changed_during_its_download_makes_no_load() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&many(0..3), "");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    let taken = feeds::loader::take(&world.feeds, &key).await.unwrap().unwrap();
    let fetched = feeds::loader::fetch(&world.feeds, &taken).await.unwrap();
    put(&world, FeedSettings { url: format!("{}&other", server.url()), ..FeedSettings::default() }).await;
    assert!(!feeds::loader::settle(&world.feeds, &taken, &fetched).await.unwrap());
    assert!(loads(&world).await.is_empty());
    assert_eq!(fetch(&world).await, 1, "the lock is free");
}

#[tokio::test]
async fn a_fetch_that_is_asked_for_during_a_download_follows_it() {
    let (world, server, key) = (World::new().await, Server::start().await, seller());
    server.say(&many(0..3), "");
    put(&world, FeedSettings { url: server.url(), ..FeedSettings::default() }).await;
    let taken = feeds::loader::take(&world.feeds, &key).await.unwrap().unwrap();
    let fetched = feeds::loader::fetch(&world.feeds, &taken).await.unwrap();
    world.feeds.clock.advance(Duration::from_secs(1));
    feeds::feed::fetch_now(&world.feeds, &key).await.unwrap();
    assert!(feeds::loader::settle(&world.feeds, &taken, &fetched).await.unwrap());
    server.say(&many(0..4), "");
    assert_eq!(fetch(&world).await, 1, "it is fetched again");
    assert_eq!((fetch(&world).await, loads(&world).await.len()), (0, 2));
}

#[tokio::test]
async fn webhooks_are_signed_and_told_again_until_they_are_taken() {
    let settings = Settings { dead_after: Duration::from_secs(86_400), ..Settings::default() };
    let (world, server) = (World::with(settings).await, Server::start().await);
    let webhook_url = format!("http://{}/hook", server.address);
    let settings = FeedSettings {
        url: "http://169.254.169.254/".to_owned(),
        webhook_url,
        webhook_secret: "s3cret".to_owned(),
        ..FeedSettings::default()
    };
    put(&world, settings).await;
    fetch(&world).await;
    server.shop.lock().unwrap().status = 500;
    assert_eq!(world.run_due(&Webhooks(world.feeds.clone())).await, 1);
    assert_eq!(world.run_due(&Webhooks(world.feeds.clone())).await, 0, "later");
    server.shop.lock().unwrap().status = 204;
    world.feeds.clock.advance(Duration::from_secs(60));
    assert_eq!(world.run_due(&Webhooks(world.feeds.clone())).await, 1);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    let (head, body) = asked[1].split_once("\r\n\r\n").unwrap();
    let seconds = world.feeds.clock.now().0 / 1_000_000;
    let signature = feeds::webhooks::signature("s3cret", seconds, body);
    assert!(head.contains(&format!("dvor-signature: {signature}")), "{head}");
    assert!(body.contains("\"event\":\"load_failed\"") && body.contains("fetch_forbidden_address"), "{body}");
    world.feeds.clock.advance(Duration::from_secs(2 * 86_400));
    assert_eq!(world.run_due(&Webhooks(world.feeds.clone())).await, 0, "told is told");
    fetch(&world).await;
    assert_eq!(world.run_due(&Webhooks(world.feeds.clone())).await, 1);
    assert!(server.asked()[0].contains("feed_dead"));
}
