//! The loop of background work, on virtual time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cluster::Cluster;
use cluster::work::{self, Done, Due, Entry, Plan, Work, head, head_by_owner};
use kit::{Clock, Shutdown, Timestamp};
use store::{Range, Read as _, Schema, Shard, Space, Store, Table, Tx};

/// (owner, number): what is always due. The value says how the piece behaves.
const PIECES: Table<(String, i64), String> = Table::new("test", "pieces", &["owner", "number"], Space::Queue);
/// (moment, owner): what is due then.
const TIMED: Table<(i64, String), ()> = Table::new("test", "timed", &["at", "owner"], Space::Queue);
const CHANNEL: &str = "pieces";

#[derive(Clone)]
struct World {
    store: Store,
    cluster: Cluster,
    clock: Clock,
    /// What ended, in order.
    done: Arc<Mutex<Vec<(String, i64)>>>,
    given_up: Arc<Mutex<Vec<(String, i64)>>>,
    tries: Arc<Mutex<BTreeMap<(String, i64), u32>>>,
    /// So many looks for due work panic.
    look_panics: Arc<Mutex<u32>>,
}

impl World {
    fn new() -> Self {
        let store =
            Store::memory(Schema::new([cluster::tables(), vec![PIECES.spec(), TIMED.spec()]].concat()));
        let clock = Clock::manual(Timestamp(1_000_000_000));
        let cluster = Cluster::solo(store.clone(), clock.clone());
        Self {
            store,
            cluster,
            clock,
            done: Arc::default(),
            given_up: Arc::default(),
            tries: Arc::default(),
            look_panics: Arc::default(),
        }
    }

    async fn add(&self, shard: Shard, owner: &str, numbers: std::ops::Range<i64>, how: &str) {
        let add = async |tx: &mut Tx| {
            tx.wake(CHANNEL);
            numbers.clone().try_for_each(|number| tx.put(&PIECES, (owner, number), &how.to_owned()))
        };
        self.store.transact(shard, add).await.unwrap();
    }

    fn done(&self) -> Vec<(String, i64)> {
        self.done.lock().unwrap().clone()
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        for _ in 0..10_000 {
            if holds(self) {
                return;
            }
            self.clock.advance(Duration::from_millis(100));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it never came true; {} are done", self.done().len());
    }

    fn start(&self, work: Pieces) -> (Shutdown, tokio::task::JoinHandle<()>) {
        let shutdown = Shutdown::new();
        (shutdown.clone(), tokio::spawn(work::run(self.cluster.clone(), work, shutdown)))
    }
}

struct Pieces {
    world: World,
    at_once: usize,
    max_tries: Option<u32>,
}

#[async_trait]
impl Work for Pieces {
    type Key = (String, i64);
    type Error = store::Error;

    fn plan(&self) -> Plan {
        Plan { max_tries: self.max_tries, ..Plan::new("pieces", "worker", CHANNEL, self.at_once) }
    }

    async fn due(&self, shards: &[Shard], _: Timestamp) -> store::Result<Due<(String, i64)>> {
        let panics = {
            let mut left = self.world.look_panics.lock().unwrap();
            *left = left.saturating_sub(1);
            *left
        };
        assert_eq!(panics, 0, "on purpose");
        let entry =
            |key: (String, i64), _| Some(Entry { at: Timestamp(0), owner: key.0.clone(), key, long: false });
        head_by_owner(&self.world.store, &PIECES, shards, entry).await
    }

    async fn run(&self, shard: Shard, key: &(String, i64)) -> store::Result<Done> {
        let how = self.world.store.get(&PIECES, shard, key).await?.unwrap_or_default();
        let tries = {
            let mut tries = self.world.tries.lock().unwrap();
            let count = tries.entry(key.clone()).or_default();
            *count += 1;
            *count
        };
        match how.as_str() {
            "panics" if tries < 3 => panic!("on purpose"),
            "hangs" => std::future::pending().await,
            _ => tokio::time::sleep(Duration::from_secs(1)).await,
        }
        self.world.store.transact(shard, async |tx| tx.delete(&PIECES, key)).await?;
        self.world.done.lock().unwrap().push(key.clone());
        Ok(Done::Finished)
    }

    async fn give_up(&self, shard: Shard, key: &(String, i64), reason: &str) -> store::Result<()> {
        assert_eq!(reason, work::KILLED_ITS_WORKER);
        self.world.given_up.lock().unwrap().push(key.clone());
        self.world.store.transact(shard, async |tx| tx.delete(&PIECES, key)).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_thousands_of_pieces_delays_nobody() {
    let world = World::new();
    let shard = Shard::wrapping(5);
    world.add(shard, "big", 0..1_000, "").await;
    world.add(shard, "little", 0..1, "").await;
    world.add(Shard::wrapping(6), "elsewhere", 0..1, "").await;
    let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 4, max_tries: None });
    let has = |world: &World, owner: &str| world.done().iter().any(|(of, _)| of == owner);
    world.until(|world| has(world, "little") && has(world, "elsewhere")).await;
    assert!(world.done().len() <= 8, "they had to wait behind {}", world.done().len());
    // One that comes later waits for one slot, not for the thousands.
    let before = world.done().len();
    world.add(shard, "late", 0..1, "").await;
    world.until(|world| has(world, "late")).await;
    assert!(world.done().len() - before <= 12, "it had to wait behind {}", world.done().len() - before);
    world.until(|world| world.done().len() == 1_003).await;
    shutdown.call();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_its_piece_a_wait_and_others_nothing() {
    let world = World::new();
    world.add(Shard::wrapping(1), "clumsy", 0..1, "panics").await;
    world.add(Shard::wrapping(1), "other", 0..3, "").await;
    let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 4, max_tries: None });
    world.until(|world| world.done().len() == 4).await;
    assert_eq!(world.done().last().unwrap().0, "clumsy", "it was tried again until it went well");
    shutdown.call();
    task.await.unwrap();
}

/// The tokens stay held, so the work must go on.
#[tokio::test(start_paused = true)]
async fn a_look_that_panics_is_repeated() {
    let world = World::new();
    *world.look_panics.lock().unwrap() = 6;
    world.add(Shard::wrapping(1), "somebody", 0..3, "").await;
    let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 4, max_tries: None });
    world.until(|world| world.done().len() == 3).await;
    assert_eq!(*world.look_panics.lock().unwrap(), 0);
    shutdown.call();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_piece_that_kills_its_process_is_given_up() {
    let world = World::new();
    let key = ("poison".to_owned(), 0);
    world.add(Shard::wrapping(1), "poison", 0..1, "hangs").await;
    for death in 1..=3 {
        let (_, task) = world.start(Pieces { world: world.clone(), at_once: 1, max_tries: Some(3) });
        world.until(|world| world.tries.lock().unwrap().get(&key) == Some(&death)).await;
        // The process dies with it.
        task.abort();
        task.await.unwrap_err();
    }
    let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 1, max_tries: Some(3) });
    world.until(|world| !world.given_up.lock().unwrap().is_empty()).await;
    assert_eq!(world.tries.lock().unwrap()[&key], 3, "it is not begun a fourth time");
    shutdown.call();
    task.await.unwrap();
    let attempts = world.store.engine().snapshot(Shard::wrapping(1)).await.unwrap();
    let table = world.store.schema().id("cluster", "attempts").unwrap();
    assert!(attempts.scan(table, &Range::all(10)).await.unwrap().is_empty(), "nothing is left of it");
}

/// Ends of the process that come one behind another are hardly a piece's fault: after three it is not begun at once, so it
/// is not there to be blamed.
#[tokio::test(start_paused = true)]
async fn a_process_that_ends_again_and_again_takes_no_innocent_piece_along() {
    let world = World::new();
    let key = ("innocent".to_owned(), 0);
    world.add(Shard::wrapping(1), "innocent", 0..1, "").await;
    for _ in 0..20 {
        let (_, task) = world.start(Pieces { world: world.clone(), at_once: 1, max_tries: Some(6) });
        world.clock.advance(Duration::from_millis(300));
        tokio::time::sleep(Duration::from_millis(300)).await;
        task.abort();
        task.await.unwrap_err();
    }
    assert!(world.tries.lock().unwrap()[&key] <= 5, "it waits between its tries");
    let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 1, max_tries: Some(6) });
    world.until(|world| world.done().len() == 1).await;
    assert!(world.given_up.lock().unwrap().is_empty());
    shutdown.call();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_orderly_end_is_no_try() {
    let world = World::new();
    let key = ("slow".to_owned(), 0);
    world.add(Shard::wrapping(1), "slow", 0..1, "hangs").await;
    for life in 1..=5 {
        let (shutdown, task) = world.start(Pieces { world: world.clone(), at_once: 1, max_tries: Some(2) });
        world.until(|world| world.tries.lock().unwrap().get(&key) == Some(&life)).await;
        shutdown.call();
        task.await.unwrap();
    }
    assert!(world.given_up.lock().unwrap().is_empty());
}

/// What is due is found behind any number of rows of one owner, and the first later moment is told.
#[tokio::test]
async fn a_look_finds_owners_behind_owners() {
    let world = World::new();
    let shard = Shard::wrapping(9);
    let fill = async |tx: &mut Tx| {
        for number in 0..3_000_i64 {
            tx.put(&TIMED, (number, "big"), &())?;
        }
        tx.put(&TIMED, (2_999_i64, "little"), &())?;
        tx.put(&TIMED, (5_000_i64, "later"), &())
    };
    world.store.transact(shard, fill).await.unwrap();
    let entry = |(at, owner): (i64, String), ()| Entry { at: Timestamp(at), owner, key: at, long: false };
    let due = head(&world.store, &TIMED, &[shard], Timestamp(4_000), entry).await.unwrap();
    let little: Vec<_> = due.pieces.iter().filter(|piece| piece.owner == "little").collect();
    assert_eq!(little.len(), 1);
    assert!(due.pieces.len() < 50, "of the others a few are enough");
    assert_eq!((due.later, due.cut), (vec![(shard, Timestamp(5_000))], vec![shard]));
    let rows = world.store.snapshot(shard).await.unwrap().scan(&TIMED, Range::all(5_000)).await.unwrap();
    assert_eq!(rows.len(), 3_002, "a look changes nothing");
}

/// Rows that wait for something else end no look, wherever they lie.
#[tokio::test]
async fn a_look_goes_on_behind_rows_that_wait() {
    let world = World::new();
    let shard = Shard::wrapping(4);
    world.add(shard, "a-busy", 0..100, "").await;
    world.add(shard, "b-waits", 0..100, "waits").await;
    world.add(shard, "c-ready", 0..1, "").await;
    let entry = |key: (String, i64), how: String| {
        (how != "waits").then(|| Entry { at: Timestamp(0), owner: key.0.clone(), key, long: false })
    };
    let due = head_by_owner(&world.store, &PIECES, &[shard], entry).await.unwrap();
    let pieces: Vec<_> = due.pieces.iter().map(|piece| &piece.key).collect();
    assert_eq!(pieces.iter().filter(|key| key.0 == "c-ready").count(), 1, "{pieces:?}");
    assert_eq!(pieces.iter().filter(|key| key.0 == "a-busy").count(), 16, "none of them twice: {pieces:?}");
}
