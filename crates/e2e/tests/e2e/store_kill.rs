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
        store_parent::run(Path::new(env!("CARGO_BIN_EXE_torture")), &url, folder.path(), &plan).unwrap();
    assert_eq!(report.kills, 20);
    assert!(report.acknowledged > 1_000, "too little happened to prove anything: {report:?}");
}

/// A disk of 96 MiB in a mount namespace of its own.
#[test]
fn a_full_disk_stops_the_store_with_a_sentence_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=96m tmpfs \"$1\" && exec \"$2\" store full-disk \"$1\"";
    let output = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(env!("CARGO_BIN_EXE_torture"))
        .output()
        .unwrap();
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("must be reopened"), "{said}");
}
