//! Everything behind the console in one process: real feeds, offers, stages and snippets on a store in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use catalog::Catalog;
use cluster::Cluster;
use console::{Doors, Parts};
use feeds::history::Load;
use feeds::upload::Upload;
use feeds::{FeedKey, Feeds};
use kit::{Clock, Tasks};
use model::OfferId;
use offers::Offers;
use offers::stages::Pairs;
use silver::Silver;
use snippets::{Registry, Snippets};
use spine::Base;
use stages::builtin::video::Videos;
use stages::stage::{Answer, Fields, Job, Outcome, Stage};
use stages::{Builtin, Stages};
use store::{Schema, Store};
use topics::Topics;
use united::United;
use web::{Access, Code, Problem, Result, Scope};
use wire::feeds::TaskStatus;
use wire::stages::PairRow;

pub(crate) const ADMIN: &str = "dvor_1_admin";
pub(crate) const SERVICE: &str = "dvor_2_service";
/// Of [`SELLER`].
pub(crate) const OWN: &str = "dvor_3_own";
/// Of another seller.
pub(crate) const OTHER: &str = "dvor_4_other";

/// A name that breaks out of whatever forgets to escape it.
pub(crate) const SELLER: &str = "a/b\"><script>alert(1)</script>";
pub(crate) const HOSTILE_TITLE: &str =
    "Дрель \"><img src=x onerror=alert(2)> \u{202e}gnp.exe </title><script>alert(3)</script>";

struct Keys;

#[async_trait]
impl Doors for Keys {
    async fn verify(&self, token: &str) -> Result<Access> {
        let scope = match token {
            ADMIN => Scope::Admin,
            SERVICE => Scope::Service,
            OWN => Scope::Seller(SELLER.to_owned()),
            OTHER => Scope::Seller("other".to_owned()),
            _ => return Err(Problem::new(Code::Unauthorized, "no such token")),
        };
        Ok(Access::new(token, vec![scope]))
    }

    async fn audit(&self, _: &Access, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
}

/// A stage of the tests: it wants every offer and fails as long as it is told so.
#[derive(Clone, Default)]
pub(crate) struct Fragile(Arc<Mutex<Option<String>>>);

impl Fragile {
    pub(crate) const ID: &str = "fragile";

    pub(crate) fn fails(&self, error: Option<&str>) {
        *self.0.lock().unwrap() = error.map(str::to_owned);
    }
}

#[async_trait]
impl Stage for Fragile {
    type Prepared = ();

    fn should_process(&self, _: &Job<'_>, _: &Fields) -> Answer {
        Answer::No
    }

    async fn prepare(&self, _: &[&model::Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, _: &Job<'_>, (): &()) -> Result<Outcome, String> {
        self.0.lock().unwrap().clone().map_or(Ok(Outcome::default()), Err)
    }
}

pub(crate) struct World {
    pub(crate) feeds: Feeds,
    pub(crate) offers: Offers,
    pub(crate) stages: Stages,
    pub(crate) fragile: Fragile,
    pub(crate) snippets: Snippets,
    pub(crate) silver: Silver,
    pub(crate) topics: Topics,
    tasks: Tasks,
    pub(crate) router: axum::Router,
}

impl World {
    pub(crate) async fn new() -> Self {
        let tables = [
            feeds::tables(),
            offers::tables(),
            stages::tables(),
            snippets::tables(),
            spine::tables(),
            united::tables(),
            silver::tables(),
        ];
        let (store, clock, tasks) =
            (Store::memory(Schema::new(tables.concat())), Clock::system(), Tasks::default());
        let options = cluster::Options { alone: true, ..cluster::Options::default() };
        let cluster = Cluster::join(store.clone(), clock.clone(), options, &tasks).await.unwrap();
        let base = Base::alone(store, clock);
        base.topics.ensure_all(&[files::RELEASES]).await.unwrap();
        let offers = Offers::new(&base, offers::Settings::default(), Catalog::shipped());
        let unify = Arc::new(feeds::LazyKnowledge::new(Catalog::shipped(), None));
        let feeds = Feeds::new(&base, feeds::config::Settings::default(), unify, fetch::Options::default());
        let silver = Silver::new(United::new(&base, Catalog::shipped()));
        let settings = snippets::Settings::default();
        let snippets = Snippets::open(&base, settings, Registry::shipped()).await.unwrap();
        snippets.start(&tasks);
        let fragile = Fragile::default();
        let builtin = Builtin::new(Fragile::ID, &["title"], fragile.clone());
        let videos = Videos::new(Vec::new(), fetch::Options::default());
        let builtins = stages::builtin::all(&offers, videos).into_iter().chain([builtin]).collect();
        let stages =
            Stages::new(offers.clone(), stages::Settings::default(), builtins, Box::new(|_, _| None));
        stages.register().await.unwrap();
        let router = console::router(Parts {
            feeds: feeds.clone(),
            offers: offers.clone(),
            stages: stages.clone(),
            snippets: Some(snippets.clone()),
            silver: silver.clone(),
            topics: base.topics.clone(),
            cluster,
            clock: base.clock,
            doors: Arc::new(Keys),
        });
        let topics = base.topics;
        let world = Self { feeds, offers, stages, fragile, snippets, silver, topics, tasks, router };
        world.start().await;
        world
    }

    async fn start(&self) {
        self.tasks.spawn("relay", topics::relay::run(self.topics.clone(), self.tasks.shutdown().clone()));
        self.offers.start(&self.tasks).await.unwrap();
        self.silver.united.start(&self.tasks).await.unwrap();
        self.silver.start(&self.tasks).await.unwrap();
        let results = feeds::results::Results(self.feeds.clone());
        let (topic, group) = (model::topics::FEED_RESULTS, feeds::results::GROUP);
        topics::consume::start(&self.tasks, &self.topics, topic, group, results);
    }

    /// Uploads a file and processes it; its answers come by themselves.
    pub(crate) async fn upload(&self, key: &FeedKey, text: &str) -> i64 {
        let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
        let stream = futures::stream::iter([Ok::<_, std::io::Error>(bytes)]);
        let how = Upload { name: "<b>goods</b>.jsonl".to_owned(), ..Upload::default() };
        feeds::upload::upload(&self.feeds, key, stream, how).await.unwrap()
    }

    pub(crate) async fn process(&self) {
        let loads = feeds::processor::Loads(self.feeds.clone());
        let all: Vec<_> = store::Shard::all().collect();
        cluster::work::run_due(&loads, &all, self.feeds.clock.now()).await.unwrap();
    }

    pub(crate) async fn load(&self, key: &FeedKey, text: &str) -> i64 {
        let task_id = self.upload(key, text).await;
        self.process().await;
        self.until(key, task_id, |load| {
            let status = load.task.status();
            feeds::tasks::is_final(status) || status == TaskStatus::TaskNeedsConfirmation
        })
        .await;
        task_id
    }

    pub(crate) async fn until(&self, key: &FeedKey, task_id: i64, wanted: impl Fn(&Load) -> bool) -> Load {
        eventually(async || {
            let load = feeds::history::load(&self.feeds, key, task_id).await.unwrap();
            if wanted(&load) { Ok(load) } else { Err(format!("{load:?}")) }
        })
        .await
    }

    /// Parks an offer for the fragile stage, as twenty failed runs do.
    pub(crate) async fn park(&self, id: i64, error: &str) {
        let now = self.offers.clock.now().0;
        let pair = PairRow {
            tries: 20,
            error: error.to_owned(),
            failed_at: now,
            parked_at: now,
            ..PairRow::default()
        };
        let shard = offers::read::shard_of(OfferId::from_raw(id).unwrap());
        let write = async |tx: &mut store::Tx| {
            let mut pairs = Pairs::default();
            pairs.keep(tx, (id, Fragile::ID), None, &pair)?;
            pairs.finish(tx).await
        };
        self.offers.store.transact(shard, write).await.unwrap();
    }

    /// Lets the stages do what is due.
    pub(crate) async fn run_stages(&self) {
        let all: Vec<_> = store::Shard::all().collect();
        let scheduler = stages::Scheduler(self.stages.clone());
        cluster::work::run_due(&scheduler, &all, self.offers.clock.now()).await.unwrap();
    }

    /// A seller with a load that has good, bad and hostile offers; then a wide second load that the guard holds.
    pub(crate) async fn furnished() -> (Self, FeedKey) {
        let world = Self::new().await;
        let key = FeedKey::new(SELLER, "default").unwrap();
        world.load(&key, &goods(0..60)).await;
        (world, key)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.tasks.shutdown().call();
    }
}

/// So many drills, and behind them a hostile one and three that are refused.
pub(crate) fn goods(range: std::ops::Range<usize>) -> String {
    let line = |id: &str, title: &str, address: &str| {
        serde_json::json!({ "id": id, "title": title, "price": "5490 RUB", "category": "Дрели и шуруповёрты",
                            "address": address })
        .to_string()
            + "\n"
    };
    let mut text: String =
        range.map(|number| line(&format!("d-{number}"), &format!("Дрель {number}"), "Москва")).collect();
    text += &line("evil", HOSTILE_TITLE, "Москва");
    text += &line("long", &"слово".repeat(2_000), "Москва");
    text += &line("<i>id</i>", "", "Москва");
    text += &line("nowhere", "Дрель нигде", "<u>Нигдеград</u>");
    text
}

/// Looks again and again until what is looked for is there; what is seen in its place is told when it never comes.
pub(crate) async fn eventually<T>(mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut seen = String::new();
    for _ in 0..1_500 {
        seen = match look().await {
            Ok(found) => return found,
            Err(seen) => seen,
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never came to it: {seen}");
}
