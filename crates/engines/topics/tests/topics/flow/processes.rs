//! Several processes on one store: they share the work, and one that dies has heirs.

use std::time::Duration;

use cluster::Cluster;
use kit::{Clock, Shutdown, Tasks};
use store::Store;
use tokio::task::JoinHandle;
use topics::{Options, Topics};

use super::{
    KEYS, PARTITIONS, TOPIC, lag, memory, numbers, open, seen, send, spawn_consumer, spawn_relay, until,
};

struct Process {
    cluster: Cluster,
    cluster_tasks: Tasks,
    shutdown: Shutdown,
    work: Vec<JoinHandle<()>>,
}

impl Process {
    async fn start(store: &Store) -> Self {
        let cluster_tasks = Tasks::default();
        let options = cluster::Options::default();
        let cluster = Cluster::join(store.clone(), Clock::system(), options, &cluster_tasks).await.unwrap();
        let topics = Topics::open("embedded:", store.clone(), cluster.clone(), Options::default()).unwrap();
        let shutdown = Shutdown::new();
        let work = vec![spawn_relay(&topics, &shutdown), spawn_consumer(&topics, &shutdown)];
        Self { cluster, cluster_tasks, shutdown, work }
    }

    fn partitions(&self) -> usize {
        self.cluster.held("read:offers.changes:test").len()
    }

    /// Dies in the middle of what it does.
    async fn kill(self) {
        self.cluster_tasks.shutdown().call();
        for task in self.work {
            task.abort();
            let _ = task.await;
        }
    }

    async fn end(self) {
        self.shutdown.call();
        for task in self.work {
            task.await.unwrap();
        }
        self.cluster.leave().await.unwrap();
        assert!(self.cluster_tasks.end(Duration::from_secs(10)).await);
    }
}

#[tokio::test(start_paused = true)]
async fn processes_share_the_work_and_inherit_it() {
    let store = memory();
    let topics = open(&store);
    topics.ensure(TOPIC, PARTITIONS).await.unwrap();
    let one = Process::start(&store).await;
    until("one reads everything", async || one.partitions() == 4).await;
    send_all(&store, 0..10).await;
    all_seen(&store, 10).await;

    let two = Process::start(&store).await;
    until("they share", async || one.partitions() == 2 && two.partitions() == 2).await;
    send_all(&store, 10..20).await;
    all_seen(&store, 20).await;

    send_all(&store, 20..30).await;
    one.kill().await;
    until("the heir has it all", async || two.partitions() == 4).await;
    all_seen(&store, 30).await;

    let three = Process::start(&store).await;
    two.end().await;
    send_all(&store, 30..40).await;
    all_seen(&store, 40).await;
    until("all is committed", async || lag(&topics).await == 0).await;
    three.end().await;
}

async fn send_all(store: &Store, range: std::ops::Range<usize>) {
    for key in KEYS {
        send(store, key, &numbers(range.end)[range.clone()]).await;
    }
}

async fn all_seen(store: &Store, count: usize) {
    for key in KEYS {
        until("all is seen", async || seen(store, key).await.len() >= count).await;
        assert_eq!(seen(store, key).await, numbers(count), "of {key}");
    }
}
