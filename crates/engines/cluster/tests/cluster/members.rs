use std::time::Duration;

use cluster::Options;
use kit::{Clock, Timestamp};
use store::Shard;

use crate::world::{Member, ROLE, join, join_by, join_with, sleep_ms, store};

/// No two members hold the same token, now.
fn assert_apart(members: &[&Member]) {
    let mut held: Vec<_> = members.iter().flat_map(|member| member.cluster.held(ROLE)).collect();
    held.sort_unstable();
    assert!(held.is_sorted_by(|a, b| a < b), "two hold the same token");
}

#[tokio::test(start_paused = true)]
async fn one_process_takes_everything_without_waiting() {
    let store = store();
    let a = join(&store, "a").await;
    sleep_ms(1).await;
    assert_eq!(a.held(), 1024);
    assert!(a.cluster.lease_left() > Duration::from_millis(5_990));
    assert_eq!(a.work(&store, ROLE, Shard::of("seller-1")).await.unwrap(), 1);
    let members = a.cluster.members().await.unwrap();
    assert!(members.len() == 1 && members[0].alive);
    sleep_ms(60_000).await;
    assert_eq!(a.held(), 1024);
    assert_eq!(a.cluster.members().await.unwrap()[0].tokens[ROLE], 1024);
}

#[tokio::test(start_paused = true)]
async fn a_crashed_process_alone_on_its_store_comes_back_at_once() {
    let store = store();
    let alone = |id: &str| Options {
        id: Some(id.to_owned()),
        roles: vec![ROLE.to_owned()],
        alone: true,
        ..Options::default()
    };
    let before = join_with(&store, alone("before")).await;
    sleep_ms(1).await;
    before.die().await;
    let after = join_with(&store, alone("after")).await;
    sleep_ms(1).await;
    assert_eq!(after.held(), 1024);
    assert_eq!(after.cluster.members().await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_shared_evenly_and_move_when_members_come_and_go() {
    let store = store();
    let (a, b) = (join(&store, "a").await, join(&store, "b").await);
    let c = join(&store, "c").await;
    for _ in 0..100 {
        assert_apart(&[&a, &b, &c]);
        sleep_ms(1).await;
    }
    let mut counts = [a.held(), b.held(), c.held()];
    counts.sort_unstable();
    assert_eq!(counts, [341, 341, 342]);

    a.cluster.leave().await.unwrap();
    sleep_ms(20).await;
    assert_eq!((a.held(), b.held(), c.held()), (0, 512, 512), "a leaver's tokens move at once");
    assert!(a.work(&store, ROLE, Shard::of("x")).await.unwrap_err().is_fenced());
}

#[tokio::test(start_paused = true)]
async fn a_dead_members_tokens_work_elsewhere_within_ten_seconds() {
    for phase in 0..10 {
        let store = store();
        let (a, b) = (join(&store, "a").await, join(&store, "b").await);
        sleep_ms(5_000 + 200 * phase).await;
        let (mine, end) = (a.cluster.held(ROLE), tokio::time::Instant::now());
        assert_eq!((mine.len(), b.held()), (512, 512));
        a.die().await;
        while b.held() < 1024 {
            assert_apart(&[&a, &b]);
            sleep_ms(100).await;
        }
        let took = end.elapsed();
        assert!(took >= Duration::from_secs(4) && took < Duration::from_millis(8_250), "it took {took:?}");
        assert!(a.work(&store, ROLE, mine[0]).await.unwrap_err().is_fenced(), "a late commit is refused");
        assert_eq!(b.work(&store, ROLE, mine[0]).await.unwrap(), 1);
    }
}

/// The others' clocks went on while the machine was suspended, and they may have taken its tokens.
#[tokio::test(start_paused = true)]
async fn a_lease_ends_while_the_machine_is_suspended() {
    let store = store();
    let clock = Clock::manual(Timestamp(1_000_000));
    let options = Options { id: Some("a".to_owned()), roles: vec![ROLE.to_owned()], ..Options::default() };
    let a = join_by(&store, options, clock.clone()).await;
    sleep_ms(1).await;
    let shard = Shard::of("seller-1");
    assert!(a.cluster.hold(ROLE, shard, Duration::from_secs(3)).is_some());
    clock.suspend(Duration::from_secs(4));
    assert!(a.cluster.hold(ROLE, shard, Duration::from_secs(3)).is_none(), "it would end after the lease");
    clock.suspend(Duration::from_secs(3));
    assert!(a.cluster.lease_left().is_zero());
    assert_eq!(a.held(), 0, "nothing is held without a lease");
    sleep_ms(5_000).await;
    assert_eq!(a.held(), 1024, "it takes them anew");
    assert_eq!(a.work(&store, ROLE, shard).await.unwrap(), 1);
}
