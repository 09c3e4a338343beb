//! What the role `silver` does, and what every process does that writes united offers or imports them.

use std::time::Duration;

use cluster::work;
use kit::{Shutdown, Tasks};
use topics::consume;

use crate::consume::Shipments;
use crate::gold::requeue::Requeued;
use crate::reread::Rereads;
use crate::{CHANNEL, Debts, Purge, Queued, ROLE, Reopened, Result, Silver, TOPICS};

/// Settings are read this often even if nobody says that they changed.
const SETTINGS_EVERY: Duration = Duration::from_secs(2);

impl Silver {
    /// Imports shipments, pays debts, makes gold and tells ERP.
    pub async fn start(&self, tasks: &Tasks) -> Result<()> {
        let (topics, cluster) = (&self.united.topics, &self.united.cluster);
        topics.ensure_all(&TOPICS).await?;
        self.read_settings().await?;
        consume::start(tasks, topics, model::topics::UNITED_OFFERS, ROLE, Shipments(self.clone()));
        work::start(tasks, cluster, Debts(self.clone()));
        work::start(tasks, cluster, Queued::new(self.clone()));
        work::start(tasks, cluster, Reopened(self.clone()));
        work::start(tasks, cluster, Requeued(self.clone()));
        work::start(tasks, cluster, Rereads(self.clone()));
        work::start(tasks, cluster, Purge(self.clone()));
        Ok(())
    }

    /// Keeps the settings read and the statistics written.
    pub fn watch(&self, tasks: &Tasks) {
        tasks.spawn("silver settings", keep_settings(self.clone(), tasks.shutdown().clone()));
        let (store, clock) = (self.united.store.clone(), self.united.clock.clone());
        let tallies = vec![self.united.shipments.tally.clone(), self.outcomes.clone()];
        let (united, shutdown) = (self.united.clone(), tasks.shutdown().clone());
        let report = move || {
            let united = united.clone();
            async move { united.report_flapping().await }
        };
        tasks.spawn("silver statistics", cluster::tally::keep(store, clock, tallies, shutdown, report));
    }
}

/// Reads the settings again and again, so that a change of them holds everywhere within seconds.
async fn keep_settings(silver: Silver, shutdown: Shutdown) {
    let changes = silver.united.store.wakes().listen(CHANNEL);
    while !shutdown.is_called() {
        if let Err(error) = silver.read_settings().await {
            tracing::warn!(%error, "the settings cannot be read; the last ones hold");
        }
        tokio::select! {
            () = shutdown.called() => return,
            () = tokio::time::sleep(SETTINGS_EVERY) => {}
            _ = changes.woken() => tokio::time::sleep(SETTINGS_EVERY / 4).await,
        }
    }
}
