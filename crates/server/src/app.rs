//! What all parts of a process share. It is made once, by `App::open`, and handed on; there are no globals.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
use catalog::Catalog;
use cluster::Cluster;
use feeds::Feeds;
use files::Files;
use kit::{Clock, Shutdown, Tasks};
use metrics_exporter_prometheus::PrometheusHandle;
use offers::Offers;
use photos::Photos;
use silver::Silver;
use stages::Stages;
use stages::builtin::video::Videos;
use store::{Schema, Store, TableSpec};
use tokio::sync::Semaphore;
use topics::Topics;
use united::United;

use crate::access::{self, Access, LocalKey, Rates, Verifier};
use crate::config::Config;
use crate::data;
use crate::export::MasterData;
use crate::http::{Backups, Tally};
use crate::roles::Role;

const PATIENCE: Duration = Duration::from_secs(10);

/// Clones share it.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub config: Config,
    pub clock: Clock,
    pub store: Store,
    pub topics: Topics,
    pub files: Files,
    pub offers: Offers,
    pub feeds: Feeds,
    pub photos: Photos,
    pub stages: Stages,
    pub united: United,
    pub silver: Silver,
    pub cluster: Cluster,
    pub verifier: Verifier,
    pub rates: Rates,
    pub local_key: LocalKey,
    pub metrics: PrometheusHandle,
    pub calls: Tally,
    pub backups: Backups,
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

impl App {
    /// Opens the engines that the configuration names.
    pub async fn open(config: Config, metrics: PrometheusHandle, part: Part) -> Result<Self> {
        let clock = Clock::system();
        let last_tasks = Tasks::default();
        let store = open_store(&config).await?;
        let cluster = match part {
            Part::Member => {
                let options = membership(&config);
                let joined = Cluster::join(store.clone(), clock.clone(), options, &last_tasks).await;
                joined.map_err(|error| match error {
                    // The store's error knows its exit code.
                    cluster::Error::Store(error) => anyhow::Error::new(error),
                    error => anyhow::Error::new(error),
                })?
            }
            // A command takes no part in the work of others.
            Part::Onlooker => Cluster::solo(store.clone(), clock.clone()),
        };
        let topics =
            Topics::open(&config.topics, store.clone(), cluster.clone(), topic_options(&config, &clock));
        let mut file_options = files::Options::new(config.data.join("incoming"));
        file_options.clock = clock.clone();
        let files = files::open(&config.files, store.clone(), file_options)?;
        let catalog = open_catalog(&config)?;
        let united = United::new(store.clone(), clock.clone(), catalog.clone()).with_cluster(cluster.clone());
        let silver = Silver::new(united.clone());
        let offers = Offers::new(store.clone(), clock.clone(), config.offers.clone(), catalog)
            .with_files(files.clone())
            .with_cluster(cluster.clone())
            .with_keeper(Arc::new(MasterData(silver.clone())));
        let topics = topics?;
        let feeds = open_feeds(&config, &store, &topics, &files, &offers);
        let stages = open_stages(&config, &offers);
        // Whoever writes offers knows from the first one on which stages want to hear of it.
        stages.refresh().await?;
        Ok(Self(Arc::new(Parts {
            topics,
            feeds,
            stages,
            photos: open_photos(&config, &store, &files, cluster.clone(), &clock),
            silver,
            united,
            files,
            offers,
            cluster,
            verifier: Verifier::new(store.clone()),
            rates: Rates::new(config.limits.requests_per_second, config.limits.requests_burst),
            local_key: LocalKey::random(),
            metrics,
            calls: Tally::default(),
            backups: Backups::default(),
            snippets: OnceLock::new(),
            ending: Shutdown::new(),
            last_tasks,
            clock,
            store,
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

fn membership(config: &Config) -> cluster::Options {
    let roles = if config.roles.has(Role::Relay) { vec![topics::relay::ROLE.to_owned()] } else { Vec::new() };
    cluster::Options {
        roles,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        alone: config.store_is_embedded(),
        ..cluster::Options::default()
    }
}

fn open_stages(config: &Config, offers: &Offers) -> Stages {
    let settings = config.stages.clone();
    let connect = stages::api::plugin::connect(&settings);
    let options = fetch::Options {
        allowed: config.downloads.allowed.clone(),
        proxy: config.downloads.proxy.clone(),
        ..fetch::Options::default()
    };
    let videos = Videos::new(config.video_providers.clone(), options);
    Stages::new(offers.clone(), settings, stages::builtin::all(offers, videos), connect)
}

fn open_photos(config: &Config, store: &Store, files: &Files, cluster: Cluster, clock: &Clock) -> Photos {
    let settings = config.photos.clone();
    let fetcher = fetch::Fetcher::new(fetch::Options {
        allowed: config.downloads.allowed.clone(),
        proxy: config.downloads.proxy.clone(),
        max_bytes: settings.max_bytes,
        idle_timeout: settings.idle_timeout,
        total_timeout: settings.total_timeout,
        ..fetch::Options::default()
    });
    Photos::new(store.clone(), files.clone(), cluster, clock.clone(), fetcher, settings)
}

fn open_catalog(config: &Config) -> Result<Catalog> {
    match &config.catalog {
        None => Ok(Catalog::shipped()),
        Some(folder) => Catalog::load(folder).with_context(|| format!("the catalog {}", folder.display())),
    }
}

fn open_feeds(config: &Config, store: &Store, topics: &Topics, files: &Files, offers: &Offers) -> Feeds {
    let settings = config.feeds.clone();
    let fetcher = fetch::Fetcher::new(fetch::Options {
        allowed: config.downloads.allowed.clone(),
        proxy: config.downloads.proxy.clone(),
        max_bytes: settings.max_file_bytes,
        idle_timeout: settings.idle_timeout,
        total_timeout: settings.total_timeout,
        ..fetch::Options::default()
    });
    Feeds {
        handed_over: Arc::new(Semaphore::new(settings.downloads.max(1))),
        store: store.clone(),
        topics: topics.clone(),
        files: files.clone(),
        clock: offers.clock.clone(),
        settings: Arc::new(settings),
        unify: Arc::new(feeds::LazyKnowledge::new((*offers.catalog).clone(), config.catalog.clone())),
        fetcher,
    }
}

fn topic_options(config: &Config, clock: &Clock) -> topics::Options {
    topics::Options {
        retention: config.topic.retention,
        retention_bytes: config.topic.retention_bytes,
        replication: config.topic.replication,
        clock: clock.clone(),
    }
}

/// All tables that this program knows.
pub fn tables() -> Vec<TableSpec> {
    [
        access::tables(),
        topics::tables(),
        files::tables(),
        cluster::tables(),
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
