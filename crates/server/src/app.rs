//! What all parts of a process share. It is made once, by `App::open`, and handed on; there are no globals.

use std::sync::Arc;

use anyhow::Result;
use kit::{Clock, Shutdown};
use metrics_exporter_prometheus::PrometheusHandle;
use store::{Schema, Store};

use crate::access::{self, LocalKey, Rates, Verifier};
use crate::config::Config;

/// Clones share it.
#[derive(Clone)]
pub struct App(Arc<Parts>);

pub struct Parts {
    pub config: Config,
    pub clock: Clock,
    pub store: Store,
    pub verifier: Verifier,
    pub rates: Rates,
    pub local_key: LocalKey,
    pub metrics: PrometheusHandle,
    /// Called when the process begins to end: it takes no new work and says that it is not ready.
    pub ending: Shutdown,
}

impl std::ops::Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl App {
    /// Opens the engines that the configuration names.
    pub async fn open(config: Config, metrics: PrometheusHandle, ending: Shutdown) -> Result<Self> {
        let clock = Clock::system();
        let store = Store::open(&config.store, schema(), &config.store_options).await?;
        let verifier = Verifier::new(store.clone());
        let rates = Rates::new(config.limits.requests_per_second, config.limits.requests_burst);
        Ok(Self(Arc::new(Parts {
            clock,
            store,
            verifier,
            rates,
            local_key: LocalKey::random(),
            metrics,
            ending,
            config,
        })))
    }

    /// Closes the engines after everything handed to them is durable.
    pub async fn close(&self) -> Result<()> {
        Ok(self.store.engine().close().await?)
    }
}

/// All tables that this program knows.
pub fn schema() -> Schema {
    Schema::new(access::tables())
}

/// The embedded store has stopped acknowledging and must be opened anew: the process ends, and whoever watches it
/// starts it again. Nothing acknowledged is lost.
pub fn abort(reason: &str) {
    tracing::error!("the store cannot go on, the process ends: {reason}");
    eprintln!("dvor: the store cannot go on: {reason}; start dvor again");
    std::process::abort();
}
