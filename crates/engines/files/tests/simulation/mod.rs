//! Two owners, those who release, and those who sweep and delete, all busy with the same content, each failing from a
//! seed: answers lost, writes and removals arriving late, processes cut off in the middle. Time is virtual.

use std::time::{Duration, Instant};

use files::objects::{FaultPlan, Faults, SharedObjects};
use files::tables::GENERATIONS;
use files::{Answer, Files, Hash, Kind, Options, Referrer};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use store::Read as _;
use tokio::time::{sleep, timeout};

use crate::owner::{Process, World};

const CONTENT: &[u8] = b"one content for all";
const SEEDS: u64 = 600;
const MINUTE: Duration = Duration::from_secs(60);
/// How far the clock is behind the runtime's time at most; the margin of writes must hold this, too.
const TICK: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn whatever_fails_nothing_is_lost_and_nothing_is_left() {
    let only: Option<u64> = std::env::var("DVOR_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    let seeds = only.map_or(0..SEEDS, |seed| seed..seed + 1);
    let (begun, mut total) = (Instant::now(), Counts::default());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let seeds = seeds.clone().skip(worker).step_by(threads);
                scope.spawn(move || seeds.map(run).collect::<Vec<_>>())
            })
            .collect();
        for worker in workers {
            worker.join().unwrap().iter().for_each(|counts| total.add(counts));
        }
    });
    println!("{} seeds in {:.1?}: {total:?}", seeds.end - seeds.start, begun.elapsed());
    // A simulation in which little happens checks little.
    if only.is_none() {
        assert!(
            total.uses > SEEDS
                && total.reads > SEEDS
                && total.generations > 2 * SEEDS
                && total.failures > SEEDS
        );
    }
}

fn run(seed: u64) -> Counts {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(simulate(seed))
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    uses: u64,
    reads: u64,
    failures: u64,
    generations: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.uses += other.uses;
        self.reads += other.reads;
        self.failures += other.failures;
        self.generations += other.generations;
    }
}

impl World {
    fn sim_options(&self) -> Options {
        Options { put_timeout: 20 * MINUTE, pending_age: 2 * HOUR, ..self.options() }
    }

    /// A process for which much goes wrong.
    fn shaky(&self, seed: u64) -> Process {
        let plan = store::FaultPlan {
            delay: MINUTE,
            delay_share: 0.5,
            error_before: 0.01,
            error_after: 0.08,
            ..store::FaultPlan::none(seed)
        };
        let store = self.store.wrapped(|engine| store::Faults::new(engine, plan));
        let plan = FaultPlan {
            seed,
            delay: 10 * MINUTE,
            fail_before: 0.1,
            fail_after: 0.1,
            late: 0.2,
            late_put: 4 * MINUTE,
            late_delete: 12 * HOUR,
        };
        let objects = Faults::new(self.objects.clone() as SharedObjects, plan);
        Process { files: Files::over(objects, store.clone(), self.sim_options()).unwrap(), store }
    }
}

async fn simulate(seed: u64) -> Counts {
    let world = World::new();
    let ticking = tokio::spawn({
        let clock = world.clock.clone();
        async move {
            loop {
                sleep(TICK).await;
                clock.advance(TICK);
            }
        }
    });
    let helpers: Vec<_> = (0..2)
        .flat_map(|number| {
            let dice = || StdRng::seed_from_u64(seed * 100 + 10 + number);
            let process = world.shaky(seed * 100 + 20 + number);
            [
                tokio::spawn(deliver(process.clone(), dice())),
                tokio::spawn(sweep(world.clone(), process, dice(), format!("seed {seed}"))),
            ]
        })
        .collect();
    let owners: Vec<_> = (0..2)
        .map(|number| {
            let dice = StdRng::seed_from_u64(seed * 100 + number);
            tokio::spawn(own(world.clone(), world.shaky(seed * 100 + 30 + number), number, dice))
        })
        .collect();
    let mut counts = Counts::default();
    for owner in owners {
        counts.add(&owner.await.unwrap_or_else(|_| panic!("seed {seed}")));
    }
    for helper in helpers {
        assert!(!helper.is_finished(), "a helper of seed {seed} failed");
        helper.abort();
    }
    let rows = world.store.snapshot(Hash::of(CONTENT).shard()).await.unwrap();
    counts.generations = rows.get(&GENERATIONS, ("last",)).await.unwrap().unwrap_or(0);
    settle(&world, seed).await;
    ticking.abort();
    counts
}

/// Whatever is still on its way arrives; then the sound finish what the shaky began.
async fn settle(world: &World, seed: u64) {
    sleep(13 * HOUR).await;
    let process = Process {
        files: Files::over(world.objects.clone(), world.store.clone(), world.sim_options()).unwrap(),
        store: world.store.clone(),
    };
    for _ in 0..2 {
        process.deliver(|| false).await.unwrap();
        process
            .files
            .sweep_shards(&[Hash::of(CONTENT).shard()], |referrer, hash| world.truth(referrer, hash))
            .await
            .unwrap();
        sleep(HOUR).await;
    }
    world.check_settled(CONTENT, &format!("seed {seed}, at the end")).await;
}

/// An owner takes the file, reads it, and mostly lets it go again, some times over.
async fn own(world: World, process: Process, number: u64, mut dice: StdRng) -> Counts {
    let mut counts = Counts::default();
    for turn in 0..4 {
        let referrer = Referrer::new(format!("sim:{number}/{turn}")).unwrap();
        sleep(HOUR.mul_f64(5.0 * dice.random::<f64>())).await;
        // Some processes are killed on the way; which owners begin again, the dice say.
        while dice.random_bool(0.8) {
            let patience = if dice.random_bool(0.2) { HOUR.mul_f64(dice.random()) } else { 48 * HOUR };
            match timeout(patience, take(&process, &referrer)).await {
                Ok(Ok(())) => break,
                Ok(Err(error)) => {
                    assert!(error.is_transient(), "{referrer}: {error:?}");
                    counts.failures += 1;
                }
                Err(_) => counts.failures += 1,
            }
        }
        let Some(hash) = world.sound().owned(&referrer).await.unwrap() else { continue };
        counts.uses += 1;
        for _ in 0..dice.random_range(0..3) {
            sleep(HOUR.mul_f64(dice.random())).await;
            counts.reads += u64::from(read(&process, &referrer, &hash).await);
        }
        if dice.random_bool(0.9) {
            while process.disown(&referrer, &hash).await.is_err() {}
        }
    }
    counts
}

async fn take(process: &Process, referrer: &Referrer) -> files::Result<()> {
    let hash = process.put(CONTENT, referrer).await?;
    process.own(referrer, &hash).await?;
    process.files.confirm(&hash, referrer).await
}

/// What is owned can be read, whatever else is going on.
async fn read(process: &Process, referrer: &Referrer, hash: &Hash) -> bool {
    let read = async { process.files.open(hash).await?.bytes().await };
    match read.await {
        Ok(bytes) => {
            assert_eq!(bytes, CONTENT, "{referrer}");
            true
        }
        Err(error) => {
            assert_eq!(error.kind(), Kind::Unavailable, "{referrer}: {error}");
            false
        }
    }
}

async fn deliver(process: Process, mut dice: StdRng) {
    loop {
        sleep(HOUR.mul_f64(dice.random())).await;
        // Half of the releases are handed over again, perhaps much later.
        let _ = process.deliver(|| dice.random_bool(0.5)).await;
    }
}

async fn sweep(world: World, process: Process, mut dice: StdRng, place: String) {
    let shards = [Hash::of(CONTENT).shard()];
    loop {
        sleep(HOUR.mul_f64(dice.random())).await;
        world.check_always(CONTENT, &place).await;
        let (sure, world) = (dice.random_bool(0.8), &world);
        let swept = process.files.sweep_shards(&shards, |referrer, hash| async move {
            if sure { world.truth(referrer, hash).await } else { Answer::Unknown }
        });
        let _ = timeout(HOUR.mul_f64(2.0 * dice.random::<f64>()), swept).await;
        world.check_always(CONTENT, &place).await;
    }
}
