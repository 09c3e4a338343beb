use std::path::Path;
use std::time::Duration;

use e2e::torture::{Plan, snippets_parent};

/// The short form of `cargo xtask torture snippets`.
#[tokio::test]
async fn nothing_acknowledged_is_lost_when_snippets_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { kills: 12, seed: 1, patience: Duration::from_secs(60), most_disk_bytes: u64::MAX };
    let program = Path::new(env!("CARGO_BIN_EXE_torture"));
    let report = snippets_parent::run(program, folder.path(), &plan).await.unwrap();
    assert_eq!(report.kills, 12);
    assert!(report.acknowledged > 500, "too little happened to prove anything: {report:?}");
}
