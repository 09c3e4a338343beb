//! The engines against the suite, and what is particular to each.
#![allow(clippy::unwrap_used)]

mod copies;
mod embedded;
mod postgres;
mod power;

use store::{FaultPlan, Faults, Options, Schema, Store, conformance};

/// Runs the whole suite and fails with every check that did not pass.
async fn conform(store: &Store) {
    let mut failures = Vec::new();
    let failed = conformance::run(store, |name, _, outcome| {
        if let Err(failure) = outcome {
            failures.push(format!("{name}: {}", failure.0));
        }
    })
    .await
    .unwrap();
    assert_eq!(failed, 0, "{failures:#?}");
}

fn schema() -> Schema {
    Schema::new(conformance::tables())
}

fn options() -> Options {
    Options { reserve_bytes: 0, ..Options::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    conform(&Store::memory(schema())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrapper_that_only_delays_conforms() {
    let plan =
        FaultPlan { delay: std::time::Duration::from_micros(300), delay_share: 0.05, ..FaultPlan::none(3) };
    conform(&Store::memory(schema()).wrapped(|engine| Faults::new(engine, plan))).await;
}
