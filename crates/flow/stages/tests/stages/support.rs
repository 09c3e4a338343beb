//! What the tests share: a world of a few shards, and stages made of closures.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use catalog::Catalog;
use cluster::work::run_due;
use kit::{Clock, Timestamp};
use model::{Content, Money, Offer, OfferId};
use offers::Offers;
use offers::stages::tables::PAIRS;
use offers::write::{Expected, by_api};
use prost::Message as _;
use spine::Base;
use stages::builtin::video::Videos;
use stages::stage::{Answer, Fields, Job, Outcome, Stage, StateChange, Timer, Update};
use stages::{Builtin, Scheduler, Settings, Stages, check_shard};
use store::{Read as _, Schema, Shard, Store};
use wire::Any;
use wire::stages::PairRow;

pub(crate) const BEGINNING: Timestamp = Timestamp(1_790_000_000_000_000);
/// Shards that the tests work in.
pub(crate) const SHARDS: u16 = 4;

/// Read once: it is large.
pub(crate) fn catalog() -> Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(Catalog::shipped).clone()
}

pub(crate) fn schema() -> Schema {
    testing::schema([offers::tables(), stages::tables()])
}

pub(crate) struct World {
    pub(crate) offers: Offers,
    pub(crate) stages: Stages,
    pub(crate) clock: Clock,
}

impl World {
    pub(crate) async fn new(builtins: Vec<Builtin>) -> Self {
        Self::on(Store::memory(schema()), Clock::manual(BEGINNING), builtins).await
    }

    /// With all stages that come with the program.
    pub(crate) async fn with_builtins() -> Self {
        let (store, clock) = (Store::memory(schema()), Clock::manual(BEGINNING));
        Self::of(offers_on(store, clock, catalog()), built_in).await
    }

    /// A process on a store that may have been worked on before.
    pub(crate) async fn on(store: Store, clock: Clock, builtins: Vec<Builtin>) -> Self {
        Self::of(offers_on(store, clock, catalog()), |_| builtins).await
    }

    pub(crate) async fn of(offers: Offers, builtins: impl FnOnce(&Offers) -> Vec<Builtin>) -> Self {
        // The tests' shards are a few of all, and so is their share of a walk's rate.
        let settings = Settings { walk_per_second: 1_000_000, ..Settings::default() };
        let stages = Stages::new(offers.clone(), settings, builtins(&offers), Box::new(|_, _| None));
        stages.register().await.unwrap();
        Self { clock: offers.clock.clone(), offers, stages }
    }

    pub(crate) fn shards() -> Vec<Shard> {
        (0..SHARDS).map(|number| Shard::wrapping(u64::from(number))).collect()
    }

    pub(crate) async fn offer(&self, seller: &str, title: &str, price: i64) -> Offer {
        self.offers.create(seller, content(title, price), &by_api("test", "create")).await.unwrap()
    }

    pub(crate) async fn edit(&self, id: i64, title: &str, price: i64) -> Offer {
        let id = OfferId::from_raw(id).unwrap();
        let actor = by_api("test", "edit");
        self.offers.edit(id, Expected::Any, &actor, |_| Ok(content(title, price))).await.unwrap()
    }

    pub(crate) async fn read(&self, id: i64) -> Offer {
        let id = OfferId::from_raw(id).unwrap();
        let snapshot = self.offers.store.snapshot(offers::read::shard_of(id)).await.unwrap();
        offers::read::require(&snapshot, id).await.unwrap()
    }

    pub(crate) async fn pair(&self, id: i64, stage: &str) -> Option<PairRow> {
        let shard = offers::read::shard_of(OfferId::from_raw(id).unwrap());
        self.offers.store.get(&PAIRS, shard, (id, stage)).await.unwrap()
    }

    /// The runtime's own time stands still, so no lease ends.
    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.stages.refresh().await.unwrap();
    }

    /// Does what is due now, until nothing is; then everything must agree.
    pub(crate) async fn rest(&self) -> usize {
        let scheduler = Scheduler(self.stages.clone());
        let worked = run_due(&scheduler, &Self::shards(), self.clock.now()).await.unwrap();
        self.agree().await;
        worked
    }

    pub(crate) async fn agree(&self) {
        for shard in Self::shards() {
            assert_eq!(check_shard(&self.offers.store, shard).await.unwrap(), Vec::<String>::new());
        }
    }

    /// Rows of a table of the stages, over the shards of the tests.
    pub(crate) async fn rows(&self, table: &str) -> usize {
        let mut rows = 0;
        for shard in Self::shards() {
            let snapshot = self.offers.store.snapshot(shard).await.unwrap();
            let id = snapshot.schema().id("stages", table).unwrap();
            rows += snapshot.scan_raw(id, store::Range::all(1_000_000)).await.unwrap().len();
        }
        rows
    }
}

/// Stages as they are without a provider of videos.
pub(crate) fn built_in(offers: &Offers) -> Vec<Builtin> {
    stages::builtin::all(offers, Videos::new(Vec::new(), fetch::Options::default()))
}

pub(crate) fn offers_on(store: Store, clock: Clock, catalog: Catalog) -> Offers {
    Offers::new(&Base::alone(store, clock), offers::Settings::default(), catalog)
}

/// A seller of one of the tests' shards.
pub(crate) fn seller(number: usize) -> String {
    let names = (0..10_000).map(|try_| format!("seller-{number}-{try_}"));
    names.into_iter().find(|name| Shard::of(name).number() < SHARDS).unwrap()
}

pub(crate) fn content(title: &str, price: i64) -> Content {
    Content {
        title: title.to_owned(),
        price: Some(Money { minor: price, currency: "RUB".to_owned() }),
        ..Content::default()
    }
}

pub(crate) fn state(text: &str) -> Any {
    Any { type_url: "test/State".to_owned(), value: text.as_bytes().to_vec() }
}

pub(crate) fn text(pair: Option<&PairRow>) -> String {
    let state = pair.and_then(|pair| pair.state.clone()).unwrap_or_default();
    String::from_utf8(state.value).unwrap()
}

type Asked = Box<dyn Fn(&Job<'_>, &Fields) -> Answer + Send + Sync>;
type Processed = Box<dyn Fn(&Job<'_>) -> Result<Outcome, String> + Send + Sync>;

/// A stage made of closures, which notes its calls.
#[derive(Clone)]
pub(crate) struct Script {
    asked: Arc<Asked>,
    processed: Arc<Processed>,
    pub(crate) questions: Arc<AtomicUsize>,
    pub(crate) runs: Arc<Mutex<Vec<(i64, Timestamp)>>>,
    /// `prepare` says that the stage is not available.
    pub(crate) down: Arc<Mutex<Option<String>>>,
    /// How long a batch takes.
    pub(crate) takes: Duration,
}

impl Script {
    pub(crate) fn new(
        asked: impl Fn(&Job<'_>, &Fields) -> Answer + Send + Sync + 'static,
        processed: impl Fn(&Job<'_>) -> Result<Outcome, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            asked: Arc::new(Box::new(asked)),
            processed: Arc::new(Box::new(processed)),
            questions: Arc::default(),
            runs: Arc::default(),
            down: Arc::default(),
            takes: Duration::ZERO,
        }
    }

    pub(crate) fn taking(self, takes: Duration) -> Self {
        Self { takes, ..self }
    }

    /// Its state is the hash of the offer's content.
    pub(crate) fn mirror() -> Self {
        let differs = |job: &Job<'_>| job.state != Some(&hash(job.offer));
        Self::new(
            move |job, _| if differs(job) { Answer::Yes } else { Answer::No },
            |job| Ok(Outcome { state: StateChange::Set(hash(job.offer)), ..Outcome::default() }),
        )
    }

    pub(crate) fn builtin(&self, id: &'static str, masks: &[&'static str]) -> Builtin {
        Builtin::new(id, masks, self.clone())
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.lock().unwrap().len()
    }

    pub(crate) fn asked(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

pub(crate) fn hash(offer: &Offer) -> Any {
    let content = offer.content.clone().unwrap_or_default().encode_to_vec();
    state(&blake3::hash(&content).to_hex())
}

pub(crate) fn yes() -> impl Fn(&Job<'_>, &Fields) -> Answer + Send + Sync + 'static {
    |_, _| Answer::Yes
}

/// A run that gives the offer another title.
pub(crate) fn retitle(job: &Job<'_>, title: &str) -> Outcome {
    let mut offer = job.offer.clone();
    if let Some(content) = &mut offer.content {
        title.clone_into(&mut content.title);
    }
    Outcome { update: Update::Offer(Box::new(offer)), ..Outcome::default() }
}

pub(crate) fn timer(at: Timestamp) -> Outcome {
    Outcome { timer: Timer::At(at), ..Outcome::default() }
}

#[async_trait]
impl Stage for Script {
    type Prepared = ();

    fn should_process(&self, job: &Job<'_>, changed: &Fields) -> Answer {
        self.questions.fetch_add(1, Ordering::SeqCst);
        (self.asked)(job, changed)
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        self.down.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        self.runs.lock().unwrap().push((job.offer.id, job.now));
        (self.processed)(job)
    }
}
