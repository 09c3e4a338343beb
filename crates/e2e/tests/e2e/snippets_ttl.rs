use std::time::Duration;

/// The short form of `cargo xtask bench snippets-ttl`, without its figures.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_expired_is_never_served_and_leaves_no_rows() {
    // So few fit into memory, so there is no disk space to wait for.
    let ran = e2e::snippets_ttl::run(5_000, Duration::from_millis(100), Duration::ZERO).await;
    let outcome = ran.unwrap();
    let (expiring, living) = (outcome.expiring, outcome.living);
    assert_eq!(outcome.rows_before, (expiring + living, expiring));
    assert_eq!(outcome.rows_after, (living, 0));
    assert!(outcome.asked_expired >= 2_000, "{outcome:?}");
}
