//! What the role `stages` does, and what every process does that can write offers.

use cluster::work;
use kit::Tasks;
use topics::consume;

use crate::api::PluginRequest;
use crate::builtin::price::{self, PriceChanges, PriceMoves};
use crate::{Error, NoteCalls, Result, SAVED_GROUP, Scheduler, Stages, TOPICS};

impl Stages {
    /// Tells the stages of changes, and runs them; the plug-ins are those that the configuration names.
    pub async fn start(&self, plugins: &[(String, PluginRequest)], tasks: &Tasks) -> Result<()> {
        let (topics, cluster) = (&self.offers.topics, &self.offers.cluster);
        topics.ensure_all(&TOPICS).await?;
        self.register().await?;
        for (id, plugin) in plugins {
            self.register_configured(id, plugin.clone()).await?;
        }
        consume::start(tasks, topics, model::topics::STAGES_SAVED, SAVED_GROUP, NoteCalls(self.clone()));
        // Prices of like offers are kept by the offers' changes.
        let prices = PriceChanges(self.offers.catalog.clone());
        consume::start(tasks, topics, model::topics::OFFERS_CHANGES, price::GROUP, prices);
        consume::start(tasks, topics, model::topics::STAGES_PRICE_POINTS, price::GROUP, PriceMoves);
        work::start(tasks, cluster, Scheduler(self.clone()));
        Ok(())
    }

    /// Keeps in mind what stages want to hear of.
    pub fn watch(&self, tasks: &Tasks) {
        let (stages, shutdown) = (self.clone(), tasks.shutdown().clone());
        tasks.spawn("stage registry", async move { stages.maintain(&shutdown).await });
    }

    /// A plug-in need not run yet: one that does not say which fields it cares for keeps the masks that it has, or is told
    /// of everything.
    async fn register_configured(&self, id: &str, plugin: PluginRequest) -> Result<()> {
        let kept = self.entries().iter().find(|entry| entry.id == id).map(|entry| entry.row.masks.clone());
        let done = match self.put_plugin(id, plugin.clone()).await {
            Err(Error::Field("masks", reason)) if plugin.masks.is_none() => {
                tracing::warn!(stage = id, "{reason}");
                let masks = Some(kept.unwrap_or_default());
                self.put_plugin(id, PluginRequest { masks, ..plugin }).await
            }
            done => done,
        };
        match done {
            // The id is free again in a moment; the next start registers it.
            Err(Error::Conflict(reason)) => tracing::warn!(stage = id, "not registered: {reason}"),
            done => drop(done?),
        }
        Ok(())
    }
}
