use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use kit::{Clock, Tasks, Timestamp};
use serde_json::Value;
use snippets::{Registry, Settings, Snippets};
use spine::Base;
use store::{Schema, Store};
use tempfile::TempDir;
use topics::Topics;
use tower::ServiceExt as _;
use web::Access;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The snippets of one configuration, on a store in memory.
pub struct World {
    pub snippets: Snippets,
    pub store: Store,
    pub topics: Topics,
    pub clock: Clock,
    pub folder: TempDir,
    router: Router,
    tasks: Tasks,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self.json()
    }
}

/// Writes a configuration with the files that it names, and gives every snippet its number.
pub fn write_config(folder: &Path, config: &str, files: &[(&str, &str)]) {
    write_config_of(folder, config, files, &Registry::shipped());
}

fn write_config_of(folder: &Path, config: &str, files: &[(&str, &str)], registry: &Registry) {
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let path = folder.join("config.pb.txt");
    std::fs::write(&path, config).unwrap();
    let (draft, mut prefixes) = snippets::read(Some(&path), registry).unwrap();
    prefixes.add_missing(draft.snippets());
    snippets::write_prefixes(&path, &prefixes).unwrap();
}

pub fn memory() -> Store {
    let tables = [snippets::tables(), spine::tables()].concat();
    Store::memory(Schema::new(tables))
}

impl World {
    pub async fn of(config: &str, files: &[(&str, &str)]) -> Self {
        Self::at(config, files, Clock::manual(Timestamp(1_700_000_000_000_000))).await
    }

    pub async fn at(config: &str, files: &[(&str, &str)], clock: Clock) -> Self {
        Self::on(memory(), config, files, clock).await
    }

    /// On a store of the test's own making.
    pub async fn on(store: Store, config: &str, files: &[(&str, &str)], clock: Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_config(folder.path(), config, files);
        let path = Some(folder.path().join("config.pb.txt"));
        Self::open(folder, path, clock, Registry::shipped(), store).await
    }

    /// With validators and convertors of one's own.
    pub async fn with(config: &str, registry: Registry) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_config_of(folder.path(), config, &[], &registry);
        let path = Some(folder.path().join("config.pb.txt"));
        Self::open(folder, path, Clock::system(), registry, memory()).await
    }

    /// With the configuration that comes with Dvor.
    pub async fn shipped() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::open(folder, None, Clock::system(), Registry::shipped(), memory()).await
    }

    async fn open(
        folder: TempDir,
        config: Option<std::path::PathBuf>,
        clock: Clock,
        registry: Registry,
        store: Store,
    ) -> Self {
        let base = Base::alone(store.clone(), clock.clone());
        let settings = Settings { config, retry_pause: Duration::from_millis(20) };
        let snippets = Snippets::open(&base, settings, registry).await.unwrap();
        let topics = base.topics;
        let router = snippets::api::routes(snippets.clone());
        Self { snippets, store, topics, clock, folder, router, tasks: Tasks::default() }
    }

    /// Starts the consumers and the lane of retries.
    pub fn start(&self) {
        self.snippets.start(&self.tasks);
    }

    pub async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request =
            Request::builder().method(method).uri(path).extension(Access::without_token("test"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, bytes: to_bytes(response.into_body(), 1 << 24).await.unwrap().to_vec() }
    }

    pub async fn put(&self, path: &str, json: &str) -> Answer {
        self.call("PUT", path, &[("content-type", "json")], json.to_owned()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], "").await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, &[], "").await
    }

    /// Asks until the path answers so; background work is under way.
    #[track_caller]
    pub fn becomes<'a>(&'a self, path: &'a str, expected: &'a str) -> impl Future<Output = ()> + 'a {
        let place = std::panic::Location::caller();
        self.until(move || async move {
            let answer = self.get(path).await;
            let found = if answer.status == 404 { "404".to_owned() } else { answer.json().to_string() };
            if found == expected {
                Ok(())
            } else {
                Err(format!("{place}: {path} is {found}, not {expected}"))
            }
        })
    }

    /// Asks until `count` messages have failed, `dead` of them for good.
    #[track_caller]
    pub fn letters(&self, count: usize, dead: usize) -> impl Future<Output = Vec<Value>> + '_ {
        let place = std::panic::Location::caller();
        async move {
            self.until(move || async move {
                let items = self.letter_items().await;
                let found = (items.len(), items.iter().filter(|item| item["not_before"].is_null()).count());
                if found == (count, dead) { Ok(()) } else { Err(format!("{place}: {items:?}")) }
            })
            .await;
            self.letter_items().await
        }
    }

    async fn letter_items(&self) -> Vec<Value> {
        self.get("/-/dead-letters").await.is(200)["items"].as_array().unwrap().clone()
    }

    pub async fn until<F: Future<Output = Result<(), String>>>(&self, check: impl Fn() -> F) {
        let began = std::time::Instant::now();
        loop {
            match check().await {
                Ok(()) => return,
                Err(reason) => assert!(began.elapsed() < PATIENCE, "{reason}"),
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.shutdown().call();
    }
}
