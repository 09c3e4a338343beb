//! A process that does nothing but hold work tokens and work under them, for tests that kill and suspend it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use cluster::{Cluster, Options};
use futures::StreamExt as _;
use kit::{Clock, Shutdown, Tasks};
use serde::{Deserialize, Serialize};
use store::{Read as _, Schema, Shard, Space, Store, Table, Tx};
use tokio::sync::mpsc;

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

/// Works under each token that it gets, once, until it is killed or its input ends: then it leaves. A line of its input
/// makes it work under all of them again, and suspend itself meanwhile.
pub async fn run(url: &str, roles: Vec<String>) -> anyhow::Result<()> {
    let store = open(url).await?;
    let tasks = Tasks::new(Shutdown::new());
    let options = Options { roles: roles.clone(), version: "e2e".to_owned(), ..Options::default() };
    let cluster = Cluster::join(store.clone(), Clock::system(), options, &tasks).await?;
    let role = roles.first().cloned().unwrap_or_default();
    let mut worker = Worker {
        report: Report { member: cluster.member_id().to_owned(), ..Report::default() },
        cluster: cluster.clone(),
        store,
        role: role.clone(),
        done: BTreeSet::new(),
        printed: None,
    };
    let (mut changes, mut input) = (cluster.watch(&role), input());
    worker.round(false).await;
    loop {
        tokio::select! {
            // The sender lives as long as the cluster.
            _ = changes.changed() => worker.round(false).await,
            line = input.recv() => match line {
                Some(()) => worker.round(true).await,
                None => break,
            },
        }
    }
    cluster.leave().await?;
    tasks.end(Duration::from_secs(5)).await;
    Ok(())
}

struct Worker {
    cluster: Cluster,
    store: Store,
    role: String,
    report: Report,
    done: BTreeSet<Shard>,
    printed: Option<Report>,
}

impl Worker {
    /// Works under the tokens held at its beginning, without looking again whether they still are: fencing must do.
    /// With a nap, under all of them, and is suspended within the first transaction, before all others.
    async fn round(&mut self, nap: bool) {
        let held: BTreeSet<_> = self.cluster.held(&self.role).into_iter().collect();
        self.done.retain(|shard| !nap && held.contains(shard));
        let mut due: Vec<_> = held.difference(&self.done).copied().collect();
        if nap && let Some(first) = due.pop() {
            let outcome = self.work(first, true).await;
            self.note(first, outcome);
        }
        let work: Vec<_> =
            due.into_iter().map(async |shard| (shard, self.work(shard, false).await)).collect();
        let outcomes: Vec<_> = futures::stream::iter(work).buffer_unordered(AT_A_TIME).collect().await;
        for (shard, outcome) in outcomes {
            self.note(shard, outcome);
        }
        self.print();
    }

    async fn work(&self, shard: Shard, mut nap: bool) -> cluster::Result<()> {
        let count = async |tx: &mut Tx| {
            self.cluster.check(tx, &self.role).await?;
            let before = tx.get(&WORK, (&self.role,)).await?.unwrap_or_default();
            if std::mem::take(&mut nap) {
                suspend();
            }
            let after = Work { member: self.report.member.clone(), count: before.count + 1 };
            tx.put(&WORK, (&self.role,), &after)?;
            Ok(())
        };
        self.store.transact(shard, count).await
    }

    fn note(&mut self, shard: Shard, outcome: cluster::Result<()>) {
        match outcome {
            Ok(()) => {
                self.report.committed += 1;
                self.done.insert(shard);
            }
            Err(error) if error.is_fenced() => self.report.refused += 1,
            Err(error) => eprintln!("shard {shard}: {error}"),
        }
    }

    fn print(&mut self) {
        self.report.held = self.cluster.held(&self.role).len();
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

/// Stands still until another process says go on.
fn suspend() {
    let stopped =
        std::process::Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status();
    if !stopped.is_ok_and(|status| status.success()) {
        eprintln!("cannot suspend myself");
    }
}

/// The lines of the input. The test holds its other end: when it is gone, so are its members.
fn input() -> mpsc::UnboundedReceiver<()> {
    let (lines, receiver) = mpsc::unbounded_channel();
    // A thread of its own: a read that blocks would hold the runtime's end up.
    std::thread::spawn(move || {
        for _ in std::io::stdin().lines().map_while(Result::ok) {
            let _ = lines.send(());
        }
    });
    receiver
}
