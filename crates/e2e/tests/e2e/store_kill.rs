use std::path::Path;
use std::time::Duration;

use e2e::torture::{Plan, store_parent};

/// The short form of `cargo xtask torture store`.
#[test]
fn nothing_acknowledged_is_lost_when_the_embedded_store_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { kills: 20, seed: 1, patience: Duration::from_secs(60), most_disk_bytes: 1 << 30 };
    let url = format!("embedded:{}", folder.path().display());
    let report =
        store_parent::run(Path::new(env!("CARGO_BIN_EXE_torture-store")), &url, folder.path(), &plan)
            .unwrap();
    assert_eq!(report.kills, 20);
    assert!(report.acknowledged > 1_000, "too little happened to prove anything: {report:?}");
}
