//! A world of feeds in one process: memory store, embedded topics, files in memory, and offers that answer as the real
//! ones would. Time is virtual: waiting costs nothing and happens only when there is nothing else to do.

use std::sync::Arc;
use std::time::Duration;

use cluster::Cluster;
use cluster::work::Work;
use feeds::config::Settings;
use feeds::history::Load;
use feeds::processor::Loads;
use feeds::survey::CategoryDecision;
use feeds::tasks::is_final;
use feeds::upload::Upload;
use feeds::{FeedKey, FeedOffer, Feeds, Unified, Unify};
use files::Files;
use files::objects::{Memory, SharedObjects};
use kit::{Clock, Tasks, Timestamp};
use model::{Content, Issue, IssueType, Level, Money};
use spine::Base;
use store::{Schema, Shard, Store};
use topics::Topics;
use wire::feeds::{FeedSettings, TaskStatus};

use crate::offers::{Decisions, FeedState, Offers};

/// Reads what a test needs of an offer: the title must be there, `later` is understood only later.
struct Plain {
    version: u32,
}

impl Unify for Plain {
    fn catalog_version(&self) -> u32 {
        self.version
    }

    /// Versions 1 and 2 are known.
    fn of_version(&self, version: u32) -> Option<Arc<dyn Unify>> {
        (version <= 2).then(|| Arc::new(Plain { version }) as Arc<dyn Unify>)
    }

    fn unify(&self, offer: &FeedOffer, _: &FeedSettings, _: Option<&CategoryDecision>) -> Unified {
        if offer.title == "later" {
            return Unified::Skipped("the catalog is away".to_owned());
        }
        let minor = offer.price.parse::<f64>().map_or(0, |price| (price * 100.0) as i64);
        let content = Content {
            // Later versions of the catalog describe offers otherwise.
            category_id: if self.version == 1 { String::new() } else { format!("of-{}", self.version) },
            catalog_version: self.version,
            title: offer.title.clone(),
            price: Some(Money { minor, currency: "RUB".to_owned() }),
            ..Content::default()
        };
        let issue = |level: Level, kind: IssueType, code: &str| Issue {
            level: level.into(),
            r#type: kind.into(),
            code: code.to_owned(),
            field: "title".to_owned(),
            value: offer.title.clone(),
            ..Issue::default()
        };
        let issues = match offer.title.as_str() {
            "bad category" => vec![issue(Level::Error, IssueType::Category, "category_unclear")],
            "odd place" => vec![issue(Level::Warning, IssueType::Geo, "geo_unknown")],
            title if title.starts_with("Сто") => {
                vec![issue(Level::Warning, IssueType::Geo, "geo_unknown"); 100]
            }
            _ => Vec::new(),
        };
        Unified::Content(Box::new(content), issues)
    }
}

/// Unifying by a version of the catalog.
pub(crate) fn plain(version: u32) -> Arc<dyn Unify> {
    Arc::new(Plain { version })
}

pub(crate) struct World {
    pub(crate) feeds: Feeds,
    pub(crate) offers: Offers,
    pub(crate) objects: Arc<Memory>,
    pub(crate) tasks: Tasks,
}

pub(crate) fn schema() -> Schema {
    Schema::new([feeds::tables(), spine::tables()].concat())
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::over(Store::memory(schema()), settings).await
    }

    pub(crate) async fn over(store: Store, settings: Settings) -> Self {
        let world = Self::without_relay(store, settings).await;
        world.start_relay();
        world
    }

    /// What goes through the outbox stays there until the relay is started.
    pub(crate) async fn without_relay(store: Store, settings: Settings) -> Self {
        let clock = Clock::manual(Timestamp(1_700_000_000_000_000));
        let tasks = Tasks::default();
        let options = cluster::Options { alone: true, ..cluster::Options::default() };
        let cluster = Cluster::join(store.clone(), clock.clone(), options, &tasks).await.unwrap();
        let options = topics::Options { clock: clock.clone(), ..topics::Options::default() };
        let topics = Topics::alone(store.clone(), options);
        topics.ensure_all(&feeds::TOPICS).await.unwrap();
        topics.ensure_all(&[files::RELEASES]).await.unwrap();
        let objects = Arc::new(Memory::default());
        let options = files::Options::new(std::env::temp_dir());
        let options = files::Options { clock: clock.clone(), reserve_bytes: 0, ..options };
        let files = Files::over(objects.clone() as SharedObjects, store.clone(), options).unwrap();
        let allowed = vec!["127.0.0.0/8".parse().unwrap()];
        let downloads = fetch::Options { allowed, ..fetch::Options::default() };
        let base = Base { store, topics, files, cluster, clock };
        let feeds = Feeds::new(&base, settings, plain(1), downloads);
        // A second one waits for the first.
        let feeds = Feeds { handed_over: Arc::new(tokio::sync::Semaphore::new(1)), ..feeds };
        let world = Self { feeds, offers: Offers::default(), objects, tasks };
        world.start();
        world
    }

    pub(crate) fn start_relay(&self) {
        let relay = topics::relay::run(self.feeds.topics.clone(), self.tasks.shutdown().clone());
        self.tasks.spawn("relay", relay);
    }

    /// The consumers on both sides, and the files' releases.
    fn start(&self) {
        let topics = &self.feeds.topics;
        let shutdown = || self.tasks.shutdown().clone();
        let consume = topics::consume::run;
        let (to, end) = (topics.clone(), shutdown());
        let handler = feeds::results::Results(self.feeds.clone());
        self.tasks.spawn("results", async move {
            consume(to, model::topics::FEED_RESULTS, feeds::results::GROUP, handler, end).await;
        });
        let (to, end, offers) = (topics.clone(), shutdown(), self.offers.clone());
        self.tasks.spawn("offers", async move {
            topics::consume::run(to, model::topics::FEED_OFFERS, "offers", offers, end).await;
        });
        let (to, end, offers) = (topics.clone(), shutdown(), Decisions(self.offers.clone()));
        self.tasks.spawn("decisions", async move {
            topics::consume::run(to, model::topics::FEED_DECISIONS, "offers", offers, end).await;
        });
        let (to, end, releases) = (topics.clone(), shutdown(), self.feeds.files.releases());
        self.tasks.spawn("releases", async move {
            topics::consume::run(to, files::RELEASES, "files", releases, end).await;
        });
    }

    pub(crate) async fn upload(&self, key: &FeedKey, text: &str) -> i64 {
        self.upload_as(key, text, Upload { name: "goods".to_owned(), ..Upload::default() }).await.unwrap()
    }

    pub(crate) async fn upload_as(&self, key: &FeedKey, text: &str, upload: Upload) -> feeds::Result<i64> {
        let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
        let stream = futures::stream::iter([Ok::<_, std::io::Error>(bytes)]);
        feeds::upload::upload(&self.feeds, key, stream, upload).await
    }

    /// Uploads, processes and waits for the end.
    pub(crate) async fn load(&self, key: &FeedKey, text: &str) -> Load {
        let task_id = self.upload(key, text).await;
        self.process().await;
        self.ended(key, task_id).await
    }

    pub(crate) async fn process(&self) {
        self.process_as(&self.feeds).await;
    }

    /// The same by a process with other settings or another catalog.
    pub(crate) async fn process_as(&self, feeds: &Feeds) {
        self.run_due(&Loads(feeds.clone())).await;
    }

    /// Does what is due now; says how much that was.
    pub(crate) async fn run_due<W: Work<Error = feeds::Error>>(&self, work: &W) -> usize {
        let all: Vec<_> = Shard::all().collect();
        cluster::work::run_due(work, &all, self.feeds.clock.now()).await.unwrap()
    }

    pub(crate) async fn task(&self, key: &FeedKey, task_id: i64) -> Load {
        feeds::history::load(&self.feeds, key, task_id).await.unwrap()
    }

    pub(crate) async fn ended(&self, key: &FeedKey, task_id: i64) -> Load {
        self.until(key, task_id, |load| is_final(load.task.status())).await
    }

    pub(crate) async fn held(&self, key: &FeedKey, task_id: i64) -> Load {
        let held = |load: &Load| load.task.status() == TaskStatus::TaskNeedsConfirmation;
        self.until(key, task_id, held).await
    }

    async fn until(&self, key: &FeedKey, task_id: i64, wanted: impl Fn(&Load) -> bool) -> Load {
        for _ in 0..1_000 {
            let load = self.task(key, task_id).await;
            if wanted(&load) {
                return load;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the load never came to where it should: {:?}", self.task(key, task_id).await);
    }

    pub(crate) async fn offers_become(&self, key: &FeedKey, wanted: impl Fn(&FeedState) -> bool) {
        for _ in 0..1_000 {
            if self.offers.state(key, |state| wanted(state)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the offers never came to where they should");
    }

    /// Lets everything that is on its way arrive.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// JSON lines of (id, title, price).
pub(crate) fn goods(goods: &[(&str, &str, i64)]) -> String {
    goods.iter().fold(String::new(), |text, (id, title, price)| {
        text + &format!("{{\"id\":\"{id}\",\"title\":\"{title}\",\"price\":\"{price}\"}}\n")
    })
}

/// So many plain goods.
pub(crate) fn many(range: std::ops::Range<usize>) -> String {
    range.fold(String::new(), |text, number| {
        text + &format!("{{\"id\":\"{number}\",\"title\":\"Good {number}\",\"price\":\"{number}\"}}\n")
    })
}

pub(crate) fn seller() -> FeedKey {
    FeedKey::new("shop", "default").unwrap()
}
