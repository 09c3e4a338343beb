//! Three processes on PostgreSQL: even shares, one killed, one suspended and woken, and what they cost when idle.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::{Cluster, Options};
use e2e::cluster_member::{Report, WORK, open};
use e2e::load::Database;
use kit::{Clock, Shutdown, Tasks};
use store::{Range, SHARDS, Shard, Store};

use crate::patience::{PATIENCE, until, until_within};

const ROLE: &str = "relay";
/// The contract: a dead process's tokens work elsewhere within this time.
const TAKEOVER: Duration = Duration::from_secs(10);

struct Member {
    child: Child,
    report: Arc<Mutex<Report>>,
}

impl Member {
    fn start(url: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cluster-member"))
            .args(["--store", url, "--roles", ROLE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let report = Arc::new(Mutex::new(Report::default()));
        let (lines, latest) = (BufReader::new(child.stdout.take().unwrap()).lines(), report.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *latest.lock().unwrap() = serde_json::from_str(&line).unwrap();
            }
        });
        Self { child, report }
    }

    fn report(&self) -> Report {
        self.report.lock().unwrap().clone()
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// It suspends itself within a transaction, before it works under the other tokens that it has seen to be its own.
    fn suspend(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap(), "suspend").unwrap();
    }

    /// It leaves when its input ends.
    fn leave(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Processor time used so far, in hundredths of a second (the kernel's unit on all Linux machines).
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<_> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who worked last in each shard.
async fn workers(store: &Store) -> BTreeMap<Shard, String> {
    let shards: Vec<_> = Shard::all().collect();
    let rows = store.scan_shards(&WORK, &shards, Range::all(1)).await.unwrap();
    rows.into_iter().map(|(shard, _, work)| (shard, work.member)).collect()
}

/// All tokens work, and each of the members has an even share.
async fn wait_for_even_shares(store: &Store, members: &[&Member]) -> Duration {
    let fair = usize::from(SHARDS) / members.len();
    until_within(PATIENCE, "an even spread", async || {
        let workers = workers(store).await;
        let is_even = |member: &&Member| {
            let report = member.report();
            let worked = workers.values().filter(|worker| **worker == report.member).count();
            worked == report.held && report.held.abs_diff(fair) <= fair * 15 / 100
        };
        workers.len() == usize::from(SHARDS) && members.iter().all(is_even)
    })
    .await
}

/// Transactions of this database so far, as its statistics tell; every statement of an idle member is one.
async fn transactions(client: &tokio_postgres::Client) -> i64 {
    let question =
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    client.query_one(question, &[]).await.unwrap().get(0)
}

async fn idle_costs(url: &str, members: &[&Member]) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    // What came before must have reached the statistics; a connection that idles tells them within 10 s.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let (transactions_before, began) = (transactions(&client).await, Instant::now());
    let ticks_before: Vec<_> = members.iter().map(|member| member.ticks()).collect();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let seconds = began.elapsed().as_secs_f64();
    let per_second =
        (transactions(&client).await - transactions_before) as f64 / seconds / members.len() as f64;
    let most_ticks = members.iter().zip(ticks_before).map(|(member, before)| member.ticks() - before).max();
    let processor = most_ticks.unwrap() as f64 / seconds;
    println!("idle: {per_second:.1} transactions/s and {processor:.2} % of a core per process");
    assert!(per_second < 20.0, "an idle process makes {per_second} transactions a second");
    assert!(processor < 1.0, "an idle process takes {processor} % of a core");
}

/// From now until all that the member worked on was worked on by others.
async fn until_others_work(store: &Store, gone: &str, patience: Duration) -> Duration {
    until_within(patience, "working elsewhere", async || {
        workers(store).await.values().all(|worker| worker != gone)
    })
    .await
}

#[tokio::test]
async fn three_processes_share_work_and_survive_one_another() {
    let server = std::env::var("DVOR_TEST_POSTGRES").expect("DVOR_TEST_POSTGRES names a PostgreSQL server");
    let database = Database::create(&server).await.unwrap();
    let store = open(&database.url).await.unwrap();
    let (a, mut b, c) =
        (Member::start(&database.url), Member::start(&database.url), Member::start(&database.url));
    let spread = wait_for_even_shares(&store, &[&a, &b, &c]).await;
    println!("started and spread evenly in {spread:?}");
    idle_costs(&database.url, &[&a, &b, &c]).await;

    let victim = c.report().member;
    c.signal("-KILL");
    let took = until_others_work(&store, &victim, TAKEOVER).await;
    println!("the tokens of a killed process worked elsewhere after {took:?}");

    let mut d = Member::start(&database.url);
    let joined = wait_for_even_shares(&store, &[&a, &b, &d]).await;
    println!("a newcomer had its share after {joined:?}");
    a_suspended_one_is_refused(&store, &mut d).await;

    drop(d);
    wait_for_even_shares(&store, &[&a, &b]).await;
    let leaver = b.report().member;
    b.leave();
    let took = until_others_work(&store, &leaver, PATIENCE).await;
    println!("the tokens of a leaving process worked elsewhere after {took:?}");
    // A dead one could not be seen so soon.
    assert!(took < Duration::from_secs(6), "a leaver's tokens took {took:?}");
    drop((a, b, c));
    store.engine().close().await.unwrap();
    database.remove().await.unwrap();
}

/// When it is woken, it finds that nothing it does is committed.
async fn a_suspended_one_is_refused(store: &Store, member: &mut Member) {
    let before = member.report();
    member.suspend();
    // The shard of its transaction is free when PostgreSQL ends the idle session.
    let took = until_others_work(store, &before.member, PATIENCE).await;
    println!("the tokens of a suspended process worked elsewhere after {took:?}");
    member.signal("-CONT");
    until("waking up", async || member.report() != before).await;
    let after = member.report();
    let refused = after.refused - before.refused;
    println!("woken up, it had {refused} commits refused");
    assert!(refused > 0, "what a suspended process did was not refused: {before:?}, {after:?}");
}

/// Twelve roles, every token of all shards, on an empty store and again after a crash: nothing to wait for.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_process_on_the_embedded_store_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}", folder.path().display());
    let roles: Vec<_> = (0..12).map(|number| format!("role-{number}")).collect();
    for start in ["the first start", "a start after a crash"] {
        let store = open(&url).await.unwrap();
        let tasks = Tasks::new(Shutdown::new());
        let options = Options { roles: roles.clone(), alone: true, ..Options::default() };
        let began = Instant::now();
        let cluster = Cluster::join(store.clone(), Clock::system(), options, &tasks).await.unwrap();
        let holds_all = async || roles.iter().all(|role| cluster.held(role).len() == usize::from(SHARDS));
        until(start, holds_all).await;
        let took = began.elapsed();
        println!("{start}: all tokens of 12 roles after {took:?}");
        assert!(took < Duration::from_secs(6), "{start} took {took:?}, as if it had waited for somebody");
        // No farewell: as far as the next start can tell, this process was killed.
        tasks.end(Duration::from_secs(5)).await;
        store.engine().close().await.unwrap();
    }
}
