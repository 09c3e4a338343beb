use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cluster::Limiter;
use tokio::time::Instant;

use crate::world::{join, sleep_ms, store};

#[derive(Default)]
struct Calls {
    begun: AtomicU32,
    now: AtomicU32,
    most: AtomicU32,
}

/// Calls as often as the limiter lets it, each call lasting `lasts`.
fn call_all_the_time(limiter: &Limiter, calls: &Arc<Calls>, callers: usize, lasts: Duration) {
    for _ in 0..callers {
        let (limiter, calls) = (limiter.clone(), calls.clone());
        tokio::spawn(async move {
            while let Ok(_permit) = limiter.acquire().await {
                calls.begun.fetch_add(1, Ordering::SeqCst);
                let now = calls.now.fetch_add(1, Ordering::SeqCst) + 1;
                calls.most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(lasts).await;
                calls.now.fetch_sub(1, Ordering::SeqCst);
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_process_gets_the_whole_rate_from_the_first_second() {
    let store = store();
    let a = join(&store, "a").await;
    let calls = Arc::new(Calls::default());
    call_all_the_time(&a.cluster.limiter("photos", 50.0, u32::MAX), &calls, 20, Duration::from_millis(1));
    sleep_ms(10_000).await;
    let begun = calls.begun.load(Ordering::SeqCst);
    assert!((450..=501).contains(&begun), "{begun} calls began in 10 s at 50 a second");
}

#[tokio::test(start_paused = true)]
async fn processes_share_rate_and_slots() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    let (calls, of_b) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
    call_all_the_time(&a.cluster.limiter("stage", 40.0, 4), &calls, 10, Duration::from_millis(50));
    sleep_ms(5_000).await;
    call_all_the_time(&b.cluster.limiter("stage", 40.0, 4), &of_b, 10, Duration::from_millis(50));
    sleep_ms(3_000).await;
    let before = (calls.begun.load(Ordering::SeqCst), of_b.begun.load(Ordering::SeqCst));
    sleep_ms(10_000).await;
    let by_a = calls.begun.load(Ordering::SeqCst) - before.0;
    let by_b = of_b.begun.load(Ordering::SeqCst) - before.1;
    assert!((340..=404).contains(&(by_a + by_b)), "{by_a} + {by_b} calls in 10 s at 40 a second");
    assert!(by_a.min(by_b) > 120, "{by_a} and {by_b} are no fair shares");
    assert!(calls.most.load(Ordering::SeqCst) <= 4 && of_b.most.load(Ordering::SeqCst) <= 3);
}

#[tokio::test(start_paused = true)]
async fn one_slot_goes_round() {
    let store = store();
    let (a, b, c) = (join(&store, "a").await, join(&store, "b").await, join(&store, "c").await);
    let together = Arc::new(Calls::default());
    let counts = [(); 3].map(|()| Arc::new(AtomicU32::new(0)));
    for (member, count) in [&a, &b, &c].into_iter().zip(counts.clone()) {
        let (limiter, together) = (member.cluster.limiter("erp", f64::INFINITY, 1), together.clone());
        tokio::spawn(async move {
            while let Ok(_permit) = limiter.acquire().await {
                assert_eq!(together.now.fetch_add(1, Ordering::SeqCst), 0, "two calls at a time");
                sleep_ms(20).await;
                together.now.fetch_sub(1, Ordering::SeqCst);
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    sleep_ms(60_000).await;
    let counts = counts.map(|count| count.load(Ordering::SeqCst));
    assert!(counts.iter().all(|count| *count > 200), "the slot was shared as {counts:?}");
    assert!(counts.iter().sum::<u32>() > 1_500, "the slot lay idle too often: {counts:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_or_idle_process_leased_comes_back() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    let of_a = a.cluster.limiter("stage", f64::INFINITY, 2);
    let (_one, _two) = (of_a.acquire().await.unwrap(), of_a.acquire().await.unwrap());
    let of_b = b.cluster.limiter("stage", f64::INFINITY, 2);
    let quick = Duration::from_secs(3);
    assert!(tokio::time::timeout(quick, of_b.acquire()).await.is_err(), "both slots are in use");
    a.die().await;
    let began = Instant::now();
    drop(of_b.acquire().await.unwrap());
    assert!(began.elapsed() < Duration::from_secs(10));

    sleep_ms(3_000).await;
    let c = join(&store, "c").await;
    let of_c = c.cluster.limiter("stage", f64::INFINITY, 2);
    let both = async { (of_c.acquire().await.unwrap(), of_c.acquire().await.unwrap()) };
    tokio::time::timeout(quick, both).await.expect("an idle process gives back what it leased");
}

#[tokio::test(start_paused = true)]
async fn no_limit_costs_nothing() {
    let store = store();
    let a = join(&store, "a").await;
    let limiter = a.cluster.limiter("free", f64::INFINITY, u32::MAX);
    let began = Instant::now();
    let permits: Vec<_> = futures::future::join_all((0..1_000).map(|_| limiter.acquire())).await;
    assert!(permits.iter().all(Result::is_ok) && began.elapsed().is_zero());
}
