use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cluster::Cluster;
use cluster::work::Work as _;
use kit::Clock;
use spine::Base;
use store::Store;
use tokio::sync::watch;
use topics::Topics;

use crate::config::{Assets, Config, Draft, utf8};
use crate::error::{ConfigError, Error, Result};
use crate::letters::{Letter, LetterId};
use crate::prefixes::{self, Prefixes};
use crate::sweep::{self, Expired};
use crate::{Registry, Settings, agree, defaults, letters, metrics, retry};

/// The name under which processes share the shards' background work.
pub const ROLE: &str = "snippets";

/// The snippets of a process. Clones share them.
#[derive(Clone)]
pub struct Snippets(Arc<Inner>);

struct Inner {
    store: Store,
    topics: Topics,
    cluster: Cluster,
    clock: Clock,
    registry: Registry,
    settings: Settings,
    config: RwLock<Arc<Config>>,
    /// One reads the configuration at a time, so that the one that reads last stays.
    reloading: tokio::sync::Mutex<()>,
    changed: watch::Sender<u64>,
}

impl Snippets {
    /// Reads the configuration and compares its key prefixes with the store's.
    pub async fn open(base: &Base, settings: Settings, registry: Registry) -> Result<Self> {
        let Base { store, topics, cluster, clock, .. } = base.clone();
        let config = load(&store, &registry, settings.config.as_deref()).await?;
        let snippets = Self(Arc::new(Inner {
            store,
            topics,
            cluster,
            clock,
            registry,
            settings,
            config: RwLock::new(Arc::new(config)),
            reloading: tokio::sync::Mutex::default(),
            changed: watch::Sender::new(0),
        }));
        snippets.note_hash().await?;
        Ok(snippets)
    }

    /// Reads the configuration anew. A bad one is refused, and the old one stays.
    pub async fn reload(&self) -> Result<()> {
        let _turn = self.0.reloading.lock().await;
        let loaded = load(&self.0.store, &self.0.registry, self.0.settings.config.as_deref()).await;
        metrics::reloaded(loaded.is_ok());
        let config = loaded?;
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        self.0.changed.send_modify(|count| *count += 1);
        tracing::info!(hash = self.config().hash(), "the snippets' configuration was read anew");
        // The others learn of it, or see an old note: nothing that a reload should fail for.
        if let Err(error) = self.note_hash().await {
            tracing::warn!("the other processes are not told of the new configuration: {error}");
        }
        Ok(())
    }

    pub fn config(&self) -> Arc<Config> {
        self.0.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As [`drop_snippet`], and refuses what this process still has in its configuration: it would go on to write under a
    /// number that is no more.
    pub async fn drop_snippet(&self, name: &str) -> Result<usize> {
        let (config, registry) = (self.0.settings.config.as_deref(), &self.0.registry);
        let (draft, _) = read(config, registry)?;
        let is_gone = draft.snippets().all(|snippet| snippet != name);
        if is_gone && self.config().snippets().any(|snippet| snippet.name == name) {
            return Err(Error::BadRequest(format!(
                "the server still works with snippet {name}, which its configuration has no longer: reload it first, \
                 with SIGHUP or `POST /-/reload` on the snippets port"
            )));
        }
        drop_snippet(&self.0.store, config, registry, name).await
    }

    /// Letters behind `after`: messages that wait for another try, and dead ones.
    pub async fn letters(&self, after: Option<&LetterId>, limit: usize) -> Result<Vec<Letter>> {
        letters::list(self.store(), &self.config(), after, limit).await
    }

    /// Tries a letter now.
    pub async fn retry_letter(&self, id: &LetterId) -> Result<()> {
        retry::attempt(self, id).await
    }

    /// Throws a letter away; `false` when there is none.
    pub async fn drop_letter(&self, id: &LetterId) -> Result<bool> {
        letters::discard(self.store(), id).await
    }

    /// Clears away what has expired by now, which happens by itself every half a minute; says how much it was.
    pub async fn sweep(&self) -> Result<usize> {
        let mut swept = 0;
        for piece in Expired(self.clone()).due(&self.0.cluster.held(ROLE), self.clock().now()).await?.pieces {
            swept += sweep::shard_sweep(self, piece.shard).await?;
        }
        Ok(swept)
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn topics(&self) -> &Topics {
        &self.0.topics
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }
}

/// Deletes all documents of a snippet that the configuration has no longer, and retires its number for ever, in the store
/// and in the file. Says how many documents that were. Can be repeated, when it was broken off.
///
/// For a process that does not serve the snippets itself; one that does has [`Snippets::drop_snippet`].
pub async fn drop_snippet(
    store: &Store,
    config: Option<&Path>,
    registry: &Registry,
    name: &str,
) -> Result<usize> {
    let (draft, mut prefixes) = read(config, registry)?;
    if draft.snippets().any(|snippet| snippet == name) {
        return Err(Error::BadRequest(format!(
            "snippet {name} is configured: take it out of the configuration first"
        )));
    }
    let dropped = agree::drop_snippet(store, config, &prefixes, name).await?;
    let before = prefixes.clone();
    for number in dropped.numbers {
        prefixes.retire(name, number);
    }
    if let Some(config) = config.filter(|_| prefixes != before) {
        write_prefixes(config, &prefixes)?;
    }
    Ok(dropped.documents)
}

/// Reads a configuration and its key prefixes, without looking at the store.
pub fn read(config: Option<&Path>, registry: &Registry) -> Result<(Draft, Prefixes), ConfigError> {
    let Some(path) = config else {
        let draft = Draft::read(defaults::CONFIG, Assets::Embedded(defaults::FILES), registry)?;
        return Ok((draft, Prefixes::read(defaults::PREFIXES)?));
    };
    let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let draft = utf8(text).and_then(|text| Draft::read(&text, Assets::Folder(folder(path)), registry));
    let draft = draft.map_err(|error| within(path, &error))?;
    let file = prefixes_file(path);
    let prefixes = match std::fs::read(&file) {
        Ok(text) => {
            utf8(text).and_then(|text| Prefixes::read(&text)).map_err(|error| within(&file, &error))?
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Prefixes::default(),
        Err(error) => return Err(unreadable(&file, &error)),
    };
    Ok((draft, prefixes))
}

fn within(file: &Path, error: &ConfigError) -> ConfigError {
    ConfigError::new(format!("{}: {error}", file.display()))
}

fn unreadable(file: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::new(format!("{} cannot be read: {error}", file.display()))
}

/// Writes the file of key prefixes beside the configuration, whole or not at all.
pub fn write_prefixes(config: &Path, prefixes: &Prefixes) -> Result<(), ConfigError> {
    let file = prefixes_file(config);
    let new = file.with_extension("txt.new");
    let written = std::fs::write(&new, prefixes.write()).and_then(|()| std::fs::rename(&new, &file));
    written.map_err(|error| ConfigError::new(format!("{} cannot be written: {error}", file.display())))
}

/// The file of key prefixes that belongs to a configuration.
pub(crate) fn prefixes_file(config: &Path) -> PathBuf {
    folder(config).join(prefixes::FILE)
}

fn folder(config: &Path) -> PathBuf {
    let parent = config.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

async fn load(store: &Store, registry: &Registry, path: Option<&Path>) -> Result<Config> {
    let (draft, prefixes) = read(path, registry)?;
    let config = draft.numbered(&prefixes).map_err(|error| match path {
        Some(path) => within(path, &error),
        None => error,
    })?;
    agree::agree(store, path, &config, &prefixes).await?;
    Ok(config)
}
