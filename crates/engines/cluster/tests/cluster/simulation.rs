//! Members that come, go, crash and meet every fault of the store, from a seed. What must hold at every moment: no two
//! hold the same token, no two calls under the same token overlap, no epoch is used by two. What must hold when things
//! settle: every token is held by exactly one of those who live.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{Cluster, Options};
use kit::{Clock, Shutdown, Tasks};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store::{FaultPlan, Read as _, Schema, Shard, Space, Store, Table, Tx};
use tokio::time::Instant;

use crate::weather::{Calm, stormy};
use crate::world::sleep_ms;

const ROLES: [(&str, u16); 2] = [("relay", 8), ("read:topic:group", 5)];
const STORM: Duration = Duration::from_secs(45);
/// Everything must have settled after this time: a transaction from the storm may hold its shard for half of it.
const CALM: Duration = Duration::from_secs(60);
/// What looks settled is watched at least so long.
const QUIET: Duration = Duration::from_secs(10);

/// The token rows, as far as the test looks into them.
const TOKENS: Table<(String,), Token> = Table::new("cluster", "tokens", &["role"], Space::Small);
/// Who worked last under a token, and with which epoch.
const WORK: Table<(String,), Work> = Table::new("test", "work", &["role"], Space::Small);

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
struct Token {
    #[prost(string, tag = "1")]
    owner: String,
    #[prost(uint64, tag = "3")]
    epoch: u64,
}

#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
struct Work {
    #[prost(string, tag = "1")]
    owner: String,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(uint64, tag = "3")]
    count: u64,
}

struct World {
    seed: u64,
    base: Store,
    calm: Calm,
    /// Calls to the outside that are under way.
    calls: Mutex<BTreeMap<(usize, Shard), String>>,
    commits: Mutex<u64>,
    refused: Mutex<u64>,
    /// What must never happen and did.
    violations: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Member {
    cluster: Cluster,
    store: Store,
    tasks: Tasks,
}

#[test]
fn no_two_ever_work_under_one_token_and_all_tokens_find_a_holder() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, seeds) =
        (number("DVOR_SIMULATION_SEED").unwrap_or(0), number("DVOR_SIMULATION_SEEDS").unwrap_or(200));
    let (even, odd) = std::thread::scope(|scope| {
        let odd = scope.spawn(|| run((first..first + seeds).skip(1).step_by(2)));
        (run((first..first + seeds).step_by(2)), odd.join().unwrap())
    });
    let (commits, refused) = (even.0 + odd.0, even.1 + odd.1);
    println!("{seeds} seeds: {commits} pieces of work committed, {refused} refused");
    assert!(commits > 100 * seeds && refused > 0, "the simulation hardly worked: {commits}, {refused}");
}

/// Commits and refusals over all these seeds.
fn run(seeds: impl Iterator<Item = u64>) -> (u64, u64) {
    seeds.fold((0, 0), |(commits, refused), seed| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let world = runtime.unwrap().block_on(simulate(seed));
        let (more_commits, more_refused) = (*world.commits.lock().unwrap(), *world.refused.lock().unwrap());
        (commits + more_commits, refused + more_refused)
    })
}

async fn simulate(seed: u64) -> Arc<World> {
    let tables = cluster::tables().into_iter().chain([WORK.spec()]);
    let world = Arc::new(World {
        seed,
        base: Store::memory(Schema::new(tables)),
        calm: Calm::default(),
        calls: Mutex::default(),
        commits: Mutex::default(),
        refused: Mutex::default(),
        violations: Mutex::default(),
    });
    let mut rng = StdRng::seed_from_u64(seed);
    let mut members: Vec<Member> = Vec::new();
    let end = Instant::now() + STORM;
    let mut number = 0;
    while Instant::now() < end {
        let dice = rng.random_range(0..100);
        if members.len() < 2 || (dice < 30 && members.len() < 5) {
            number += 1;
            members.extend(join(&world, number, &mut rng).await);
        } else if dice < 45 {
            let victim = members.swap_remove(rng.random_range(0..members.len()));
            kill_or_leave(victim, rng.random_bool(0.5)).await;
        }
        for _ in 0..rng.random_range(1..50) {
            sleep_ms(100).await;
            world.no_token_is_held_twice(&members);
        }
    }
    world.calm.begin();
    if members.is_empty() {
        members.extend(join(&world, 1_000, &mut rng).await);
    }
    let calm = Instant::now();
    while calm.elapsed() < QUIET || (calm.elapsed() < CALM && World::unsettled(&members).is_some()) {
        sleep_ms(100).await;
        world.no_token_is_held_twice(&members);
    }
    assert_eq!(World::unsettled(&members), None, "seed {seed}");
    assert_eq!(world.violations.lock().unwrap().as_slice(), [""; 0], "seed {seed}");
    for member in members {
        member.tasks.end(Duration::from_secs(60)).await;
    }
    world
}

async fn join(world: &Arc<World>, number: u64, rng: &mut StdRng) -> Option<Member> {
    let plan = FaultPlan {
        seed: world.seed * 1_000 + number,
        delay: Duration::from_millis([1, 300, 2_000, 9_000][rng.random_range(0..4)]),
        delay_share: [0.0, 0.02, 0.2][rng.random_range(0..3)],
        error_before: [0.0, 0.02, 0.2][rng.random_range(0..3)],
        error_after: [0.0, 0.05, 0.3][rng.random_range(0..3)],
        crash_at_commit: rng.random_bool(0.2).then(|| rng.random_range(0..300)),
    };
    let store = stormy(&world.base, plan, &world.calm);
    let tasks = Tasks::new(Shutdown::new());
    let options = Options { id: Some(format!("m{number}")), ..Options::default() };
    let cluster = Cluster::join(store.clone(), Clock::system(), options, &tasks).await.ok()?;
    for (role, shards) in ROLES {
        cluster.register_role(role, shards);
    }
    let member = Member { cluster, store, tasks };
    let rng = || StdRng::seed_from_u64(world.seed * 7_919 + number);
    member.tasks.spawn("commits", commit_work(world.clone(), member.clone(), rng()));
    member.tasks.spawn("calls", call_outside(world.clone(), member.clone(), rng()));
    Some(member)
}

/// A killed one ends without a word; its commits that are under way may still come through, late.
async fn kill_or_leave(member: Member, leaves: bool) {
    if leaves {
        // What the store says to that is the same to a member that goes.
        let _ = member.cluster.leave().await;
    }
    member.tasks.shutdown().call();
}

/// Fenced work: sees a token, dawdles, commits.
async fn commit_work(world: Arc<World>, member: Member, mut rng: StdRng) {
    while member.tasks.shutdown().sleep(Duration::from_millis(rng.random_range(10..400))).await {
        let role = ROLES[rng.random_range(0..ROLES.len())].0;
        let held = member.cluster.held(role);
        if held.is_empty() {
            continue;
        }
        let shard = held[rng.random_range(0..held.len())];
        if rng.random_bool(0.05) {
            sleep_ms(rng.random_range(0..15_000)).await;
        }
        let work =
            member.store.transact(shard, async |tx| count(&world, &member.cluster, tx, role).await).await;
        match work {
            Ok(()) => *world.commits.lock().unwrap() += 1,
            Err(error) if error.is_fenced() => *world.refused.lock().unwrap() += 1,
            Err(_) => {}
        }
    }
}

/// Called by every member's own hands: an epoch has one owner, and epochs only grow.
async fn count(world: &World, cluster: &Cluster, tx: &mut Tx, role: &str) -> cluster::Result<()> {
    cluster.check(tx, role).await?;
    let token = tx.get(&TOKENS, (role,)).await?.unwrap_or_default();
    let before = tx.get(&WORK, (role,)).await?.unwrap_or_default();
    let me = cluster.member_id().to_owned();
    let in_order = before.epoch < token.epoch || (before.epoch == token.epoch && before.owner == me);
    world.must(in_order && token.owner == me, || format!("{me} works under {token:?} after {before:?}"));
    tx.put(&WORK, (role,), &Work { owner: me, epoch: token.epoch, count: before.count + 1 })?;
    Ok(())
}

/// Calls that cannot be fenced must not overlap with another member's.
async fn call_outside(world: Arc<World>, member: Member, mut rng: StdRng) {
    let longest = Duration::from_secs(3);
    while member.tasks.shutdown().sleep(Duration::from_millis(rng.random_range(10..300))).await {
        let index = rng.random_range(0..ROLES.len());
        let (role, shards) = ROLES[index];
        let Some(shard) = Shard::new(rng.random_range(0..shards)) else { continue };
        let Some(hold) = member.cluster.hold(role, shard, longest) else { continue };
        let me = member.cluster.member_id().to_owned();
        let other = world.calls.lock().unwrap().insert((index, shard), me.clone());
        world.must(other.is_none(), || format!("{me} calls while {other:?} does, {role} {shard}"));
        sleep_ms(rng.random_range(0..=3_000)).await;
        world.calls.lock().unwrap().remove(&(index, shard));
        drop(hold);
    }
}

impl World {
    /// A panic in a background task would only be logged.
    fn must(&self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.violations.lock().unwrap().push(otherwise());
        }
    }

    fn no_token_is_held_twice(&self, members: &[Member]) {
        for (role, _) in ROLES {
            let mut held: Vec<_> = members.iter().flat_map(|member| member.cluster.held(role)).collect();
            held.sort_unstable();
            assert!(
                held.is_sorted_by(|a, b| a < b),
                "seed {}: two hold a token of {role}: {held:?}",
                self.seed
            );
        }
    }

    /// What is not yet as it should be when nothing happens: every token held, shares even.
    fn unsettled(members: &[Member]) -> Option<String> {
        ROLES.iter().find_map(|(role, shards)| {
            let counts: Vec<_> = members.iter().map(|member| member.cluster.held(role).len()).collect();
            let spread = counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0);
            let settled = counts.iter().sum::<usize>() == usize::from(*shards) && spread <= 1;
            (!settled).then(|| format!("{role} is spread as {counts:?}"))
        })
    }
}
