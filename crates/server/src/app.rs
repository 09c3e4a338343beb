//! What all parts of a process share. It is made once, by `App::open`, and handed on; there are no globals.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use catalog::Catalog;
use cluster::Cluster;
use feeds::{Feeds, LazyKnowledge};
use kit::{Clock, Shutdown, Tasks};
use metrics_exporter_prometheus::PrometheusHandle;
use offers::Offers;
use photos::Photos;
use silver::Silver;
use spine::Base;
use stages::Stages;
use stages::builtin::video::Videos;
use store::{Schema, Store, TableSpec};
use topics::Topics;
use united::United;

use crate::access::{self, Access, LocalKey, Rates, Verifier};
use crate::config::{Config, Downloads};
use crate::data;
use crate::export::MasterData;
use crate::http::{Backups, Bodies, Tally};
use crate::roles::Role;

const PATIENCE: Duration = Duration::from_secs(10);

/// Clones share it.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub config: Config,
    pub base: Base,
    pub offers: Offers,
    pub feeds: Feeds,
    pub photos: Photos,
    pub stages: Stages,
    pub united: United,
    pub silver: Silver,
    pub verifier: Verifier,
    pub rates: Rates,
    pub local_key: LocalKey,
    pub metrics: PrometheusHandle,
    pub calls: Tally,
    pub backups: Backups,
    /// Of the calls that are under way.
    pub bodies: Arc<Bodies>,
    /// With the role `snippets`, when they are open.
    pub snippets: OnceLock<snippets::Snippets>,
    /// Called when the process begins to end: it takes no new work and says that it is not ready.
    pub ending: Shutdown,
    /// What must go on until all other work has ended: the membership in the cluster.
    last_tasks: Tasks,
}

/// Whether a process takes part in the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Member,
    Onlooker,
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// The engines are at hand everywhere.
impl std::ops::Deref for Parts {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl App {
    /// Opens the engines that the configuration names.
    pub async fn open(config: Config, metrics: PrometheusHandle, part: Part) -> Result<Self> {
        let last_tasks = Tasks::default();
        let base = open_base(&config, part, &last_tasks).await?;
        let (catalog, downloads) = (open_catalog(&config)?, downloads(&config));
        let united = United::new(&base, catalog.clone());
        let silver = Silver::new(united.clone());
        let offers = Offers::new(&base, config.offers.clone(), catalog.clone())
            .with_keeper(Arc::new(MasterData(silver.clone())));
        let unify = Arc::new(LazyKnowledge::new(catalog, config.catalog.clone()));
        let stages = open_stages(&config, &offers, downloads.clone());
        // Whoever writes offers knows from the first one on which stages want to hear of it.
        stages.refresh().await?;
        Ok(Self(Arc::new(Parts {
            feeds: Feeds::new(&base, config.feeds.clone(), unify, downloads.clone()),
            photos: Photos::new(&base, config.photos.clone(), downloads),
            stages,
            silver,
            united,
            offers,
            verifier: Verifier::new(base.store.clone()),
            rates: Rates::new(config.limits.requests_per_second, config.limits.requests_burst),
            local_key: LocalKey::random(),
            metrics,
            calls: Tally::default(),
            backups: Backups::default(),
            bodies: Arc::new(Bodies::new(config.limits.bodies_bytes)),
            snippets: OnceLock::new(),
            ending: Shutdown::new(),
            last_tasks,
            base,
            config,
        })))
    }

    /// What a shown token allows, if it is known and has calls left.
    pub async fn token_access(&self, shown: &str) -> web::Result<Access> {
        let access = self.verifier.verify(shown).await?;
        self.rates.take(shown.split('_').nth(1).unwrap_or_default())?;
        Ok(access)
    }

    /// Returns when background work has panicked.
    pub async fn broken(&self, tasks: &Tasks) {
        tokio::select! {
            () = tasks.broken() => {}
            () = self.last_tasks.broken() => {}
        }
    }

    /// Leaves the cluster, handing the work over, and closes the engines after everything handed to them is durable.
    pub async fn close(&self) -> Result<()> {
        if let Err(error) = self.cluster.leave().await {
            // The others will notice by themselves, a few seconds later.
            tracing::warn!("the cluster could not be told of the end: {error}");
        }
        self.last_tasks.end(PATIENCE).await;
        Ok(self.store.engine().close().await?)
    }
}

/// The engines that the configuration names.
async fn open_base(config: &Config, part: Part, tasks: &Tasks) -> Result<Base> {
    let (clock, store) = (Clock::system(), open_store(config).await?);
    let cluster = match part {
        Part::Member => Cluster::join(store.clone(), clock.clone(), membership(config), tasks).await?,
        // A command takes no part in the work of others.
        Part::Onlooker => Cluster::solo(store.clone(), clock.clone()),
    };
    let options = topic_options(config, &clock);
    let topics = Topics::open(&config.topics, store.clone(), cluster.clone(), options)?;
    let options = files::Options {
        clock: clock.clone(),
        reserve_bytes: config.files_reserve_bytes,
        ..files::Options::new(config.data.join("incoming"))
    };
    let files = files::open(&config.files, store.clone(), options)?;
    Ok(Base { store, topics, files, cluster, clock })
}

fn membership(config: &Config) -> cluster::Options {
    let roles = if config.roles.has(Role::Relay) { vec![topics::relay::ROLE.to_owned()] } else { Vec::new() };
    cluster::Options {
        roles,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        alone: config.store_is_embedded(),
        ..cluster::Options::default()
    }
}

fn open_stages(config: &Config, offers: &Offers, downloads: fetch::Options) -> Stages {
    let settings = config.stages.clone();
    let connect = stages::api::plugin::connect(&settings);
    let videos = Videos::new(config.video_providers.clone(), downloads);
    Stages::new(offers.clone(), settings, stages::builtin::all(offers, videos), connect)
}

/// How everything is downloaded; each system has its own limits.
fn downloads(config: &Config) -> fetch::Options {
    let Downloads { allowed, proxy, ports } = config.downloads.clone();
    fetch::Options { allowed, proxy, ports, ..fetch::Options::default() }
}

fn open_catalog(config: &Config) -> Result<Catalog> {
    match &config.catalog {
        None => Ok(Catalog::shipped()),
        Some(folder) => Catalog::load(folder).with_context(|| format!("the catalog {}", folder.display())),
    }
}

fn topic_options(config: &Config, clock: &Clock) -> topics::Options {
    topics::Options {
        retention: config.topic.retention,
        retention_bytes: config.topic.retention_bytes,
        replication: config.topic.replication,
        partitions: config.topic.partitions,
        clock: clock.clone(),
    }
}

/// All tables that this program knows.
pub fn tables() -> Vec<TableSpec> {
    [
        access::tables(),
        spine::tables(),
        offers::tables(),
        stages::tables(),
        photos::tables(),
        feeds::tables(),
        snippets::tables(),
        united::tables(),
        silver::tables(),
    ]
    .concat()
}

/// Opens the store alone. The sentence for a folder in use names who has it.
pub async fn open_store(config: &Config) -> Result<Store> {
    let opened = Store::open(&config.store, Schema::new(tables()), &config.store_options).await;
    opened.map_err(|error| match error.kind() {
        store::Kind::Locked => data::in_use(&config.data),
        _ => error.into(),
    })
}

/// The embedded store has stopped acknowledging and must be opened anew: the process ends, and whoever watches it
/// starts it again. Nothing acknowledged is lost.
pub fn abort(reason: &str) {
    tracing::error!("the store cannot go on, the process ends: {reason}");
    eprintln!("dvor: the store cannot go on: {reason}; start dvor again");
    std::process::abort();
}
