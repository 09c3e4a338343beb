//! A process that does nothing but hold work tokens and work under them, for tests that kill and suspend it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use cluster::{Cluster, Options};
use futures::StreamExt as _;
use kit::{Clock, Shutdown, Tasks};
use serde::{Deserialize, Serialize};
use store::{Read as _, Schema, Shard, Space, Store, Table, Tx};

/// Who worked last under the token of its shard.
pub const WORK: Table<(String,), Work> = Table::new("e2e", "work", &["role"], Space::Small);

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Work {
    #[prost(string, tag = "1")]
    pub member: String,
    #[prost(uint64, tag = "2")]
    pub count: u64,
}

/// Shards that a member works on at a time.
const AT_A_TIME: usize = 16;

const LATENESS: Duration = Duration::from_secs(1);

/// How much a member works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Effort {
    /// Once for each token that it gets.
    Once,
    /// Again and again, each time a while after it looked which tokens it has.
    Late,
}

/// What a member prints, one line of JSON whenever it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub member: String,
    pub held: usize,
    pub committed: u64,
    /// Commits that were refused because the token was another's.
    pub refused: u64,
}

pub async fn open(url: &str) -> store::Result<Store> {
    let schema = Schema::new(cluster::tables().into_iter().chain([WORK.spec()]));
    Store::open(&[url.to_owned()], schema, &store::Options::default()).await
}

/// Runs until it is killed, or its input ends: then it leaves.
pub async fn run(url: &str, roles: Vec<String>, effort: Effort) -> anyhow::Result<()> {
    let store = open(url).await?;
    let tasks = Tasks::new(Shutdown::new());
    let options = Options { roles: roles.clone(), version: "e2e".to_owned(), ..Options::default() };
    let cluster = Cluster::join(store.clone(), Clock::system(), options, &tasks).await?;
    let mut worker = Worker {
        report: Report { member: cluster.member_id().to_owned(), ..Report::default() },
        cluster: cluster.clone(),
        store,
        done: BTreeSet::new(),
        printed: None,
    };
    let role = roles.first().cloned().unwrap_or_default();
    let mut changes = cluster.watch(&role);
    let working = async {
        loop {
            worker.round(&role, effort).await;
            worker.print(&role);
            if effort == Effort::Once {
                // The sender lives as long as the cluster.
                let _ = changes.changed().await;
            }
        }
    };
    tokio::select! {
        () = working => {}
        () = end_of_input() => {}
    }
    cluster.leave().await?;
    tasks.end(Duration::from_secs(5)).await;
    Ok(())
}

struct Worker {
    cluster: Cluster,
    store: Store,
    report: Report,
    done: BTreeSet<Shard>,
    printed: Option<Report>,
}

impl Worker {
    /// Works under the tokens held at its beginning, without looking again whether they still are: fencing must do.
    async fn round(&mut self, role: &str, effort: Effort) {
        let held: BTreeSet<_> = self.cluster.held(role).into_iter().collect();
        self.done.retain(|shard| held.contains(shard));
        if effort == Effort::Late {
            tokio::time::sleep(LATENESS).await;
        }
        let due = held.into_iter().filter(|shard| effort == Effort::Late || !self.done.contains(shard));
        let due: Vec<_> = due.collect();
        let (store, cluster) = (self.store.clone(), self.cluster.clone());
        let work = due.into_iter().map(|shard| work(store.clone(), cluster.clone(), role.to_owned(), shard));
        let mut work = futures::stream::iter(work).buffer_unordered(AT_A_TIME);
        while let Some((shard, outcome)) = work.next().await {
            match outcome {
                Ok(()) => {
                    self.report.committed += 1;
                    self.done.insert(shard);
                }
                Err(error) if error.is_fenced() => self.report.refused += 1,
                Err(error) => eprintln!("shard {shard}: {error}"),
            }
        }
    }

    fn print(&mut self, role: &str) {
        self.report.held = self.cluster.held(role).len();
        if self.printed.as_ref() != Some(&self.report)
            && let Ok(line) = serde_json::to_string(&self.report)
        {
            println!("{line}");
            // A test that has gone away reads nothing; the input's end tells.
            let _ = std::io::stdout().flush();
            self.printed = Some(self.report.clone());
        }
    }
}

async fn work(store: Store, cluster: Cluster, role: String, shard: Shard) -> (Shard, cluster::Result<()>) {
    (shard, store.transact(shard, async |tx: &mut Tx| count(tx, &cluster, &role).await).await)
}

async fn count(tx: &mut Tx, cluster: &Cluster, role: &str) -> cluster::Result<()> {
    cluster.check(tx, role).await?;
    let before = tx.get(&WORK, (role,)).await?.unwrap_or_default();
    let after = Work { member: cluster.member_id().to_owned(), count: before.count + 1 };
    tx.put(&WORK, (role,), &after)?;
    Ok(())
}

/// The test holds the other end: when it is gone, so are its members.
async fn end_of_input() {
    let (ended, end) = tokio::sync::oneshot::channel();
    // A thread of its own: a read that blocks would hold the runtime's end up.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
