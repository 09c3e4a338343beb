//! A process with one stage over many offers, in this program: as much of `dvor serve` as the scheduler needs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use async_trait::async_trait;
use catalog::Catalog;
use cluster::work;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use kit::{Clock, Shutdown, Timestamp};
use model::Offer;
use offers::stages::Lane;
use offers::stages::tables::COUNTS;
use offers::write::by_api;
use offers::{Offers, Settings};
use spine::Base;
use stages::stage::{Answer, Fields, Job, Outcome, Stage, StateChange, Timer};
use stages::{Builtin, Scheduler, Stages};
use store::{Options, Range, Schema, Shard, Store};
use wire::Any;

use super::offers::content;
use super::seller_name;

pub const STAGE: &str = "bench";
/// Offers written at a time.
const WRITERS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(600);

/// What the stage does with an offer.
pub type Act = Arc<dyn Fn(&Job<'_>) -> Outcome + Send + Sync>;

struct Acting(Act);

#[async_trait]
impl Stage for Acting {
    type Prepared = ();

    fn should_process(&self, _: &Job<'_>, _: &Fields) -> Answer {
        Answer::Yes
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        Ok((self.0)(job))
    }
}

/// State and timer are saved, the offer stays as it is.
pub fn noting(timer: Timestamp) -> Outcome {
    let state = Any { type_url: "bench/Seen".to_owned(), value: b"seen".to_vec() };
    Outcome { state: StateChange::Set(state), timer: Timer::At(timer), ..Outcome::default() }
}

/// The store, its offers and the one stage.
pub struct World {
    pub offers: Offers,
    pub stages: Stages,
    shutdown: Shutdown,
    running: Option<tokio::task::JoinHandle<()>>,
}

impl World {
    pub async fn open(url: &str, act: Act) -> anyhow::Result<Self> {
        let tables = [offers::tables(), spine::tables()].concat();
        let options = Options { reserve_bytes: 0, ..Options::default() };
        let store = Store::open(&[url.to_owned()], Schema::new(tables), &options).await?;
        let base = Base::alone(store, Clock::system());
        let offers = Offers::new(&base, Settings::default(), Catalog::shipped());
        let builtins = vec![Builtin::new(STAGE, &["title"], Acting(act))];
        let settings = stages::Settings::default();
        let stages = Stages::new(offers.clone(), settings, builtins, Box::new(|_, _| None));
        stages.register().await?;
        Ok(Self { offers, stages, shutdown: Shutdown::default(), running: None })
    }

    /// Writes offers as people do, each in a transaction of its own, so that each is told in the main lane.
    pub async fn create(&self, category: &str, sellers: u64, each: u64) -> anyhow::Result<()> {
        let numbers = stream::iter(0..sellers * each);
        let create = |number: u64| async move {
            let (seller, content) = (seller_name(number % sellers), content(category, number));
            self.offers.create(&seller, content, &by_api("bench", "create")).await
        };
        numbers.map(create).buffer_unordered(WRITERS).try_for_each(|_| async { Ok(()) }).await?;
        Ok(())
    }

    pub fn start(&mut self) {
        let scheduler = Scheduler(self.stages.clone());
        let run = work::run(self.offers.cluster.clone(), scheduler, self.shutdown.clone());
        self.running = Some(tokio::spawn(run));
    }

    /// Offers that wait in a lane of the stage.
    pub async fn waiting(&self, lane: Lane) -> anyhow::Result<i64> {
        let all: Vec<_> = Shard::all().collect();
        let counts = self.offers.store.scan_shards(&COUNTS, &all, Range::all(16)).await?;
        let mine = counts.into_iter().filter(|(_, (stage, of), _)| stage == STAGE && *of == lane.number());
        Ok(mine.map(|(_, _, count)| count.waiting).sum())
    }

    /// Waits until this number of timers is set and nothing is queued.
    pub async fn noted(&self, timers: i64) -> anyhow::Result<()> {
        let wait = async {
            while self.waiting(Lane::Timers).await? < timers || self.waiting(Lane::Main).await? > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok::<_, anyhow::Error>(())
        };
        tokio::time::timeout(PATIENCE, wait).await??;
        ensure!(self.waiting(Lane::Timers).await? == timers, "more timers than offers");
        Ok(())
    }

    /// The work ends, and the store is closed.
    pub async fn close(self) -> anyhow::Result<()> {
        self.shutdown.call();
        if let Some(running) = self.running {
            running.await?;
        }
        self.offers.store.engine().close().await?;
        Ok(())
    }
}
