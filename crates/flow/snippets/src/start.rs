//! What the role `snippets` does beside its port.

use std::collections::BTreeMap;

use cluster::work;
use kit::{Shutdown, Tasks};

use crate::consume::{GROUP, Uploader};
use crate::error::Result;
use crate::retry::Retries;
use crate::snippets::Snippets;
use crate::sweep::Expired;

impl Snippets {
    /// Makes snippets from topics, tries again what failed, and clears away what has expired.
    pub fn start(&self, tasks: &Tasks) {
        work::start(tasks, self.cluster(), Retries(self.clone()));
        work::start(tasks, self.cluster(), Expired(self.clone()));
        tasks.spawn("snippets topics", consumers(self.clone(), tasks.clone()));
    }
}

/// Readers of one topic in a process: while one waits for the disk, another one works. The other half of the cores is for
/// requests.
fn readers() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get() / 2).clamp(2, 8)
}

/// How often the configurations of the other processes are looked at.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_secs(30);

/// Keeps consumers for each topic of the configuration, whatever becomes of that.
async fn consumers(snippets: Snippets, tasks: Tasks) {
    let mut changes = snippets.changes();
    let mut running: BTreeMap<String, Shutdown> = BTreeMap::new();
    loop {
        changes.mark_unchanged();
        let config = snippets.config();
        running.retain(|topic, shutdown| {
            let read = config.feeds.iter().any(|feed| feed.topic == *topic);
            if !read {
                shutdown.call();
            }
            read
        });
        let mut failed = false;
        for feed in &config.feeds {
            if running.contains_key(&feed.topic) {
                continue;
            }
            match ensure(&snippets, &feed.topic).await {
                Ok(()) => {
                    let shutdown = tasks.shutdown().child();
                    running.insert(feed.topic.clone(), shutdown.clone());
                    for _ in 0..readers() {
                        let work = consume(snippets.clone(), feed.topic.clone(), shutdown.clone());
                        tasks.spawn("snippets consumer", work);
                    }
                }
                Err(error) => {
                    failed = true;
                    tracing::warn!(topic = feed.topic, %error, "the topic cannot be read yet");
                }
            }
        }
        drop(config);
        if let Err(error) = snippets.differing().await {
            tracing::debug!("the configurations of other processes are not known: {error}");
        }
        let again = std::time::Duration::from_secs(5);
        tokio::select! {
            () = tasks.shutdown().called() => return,
            () = tokio::time::sleep(again), if failed => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = changes.changed() => {}
        }
    }
}

/// A topic that is there already may have been made by others, with as many partitions as they like.
async fn ensure(snippets: &Snippets, topic: &str) -> Result<()> {
    match snippets.topics().describe(topic).await {
        Err(error) if error.kind() == topics::Kind::UnknownTopic => {
            Ok(snippets.topics().ensure_all(&[topic]).await?)
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

async fn consume(snippets: Snippets, topic: String, shutdown: Shutdown) {
    let topics = snippets.topics().clone();
    let uploader = Uploader { snippets, topic: topic.clone() };
    topics::consume::run(topics, &topic, GROUP, uploader, shutdown).await;
}
