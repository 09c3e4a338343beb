//! The suite, over every place where objects can be.

use std::sync::Arc;

use files::conformance;
use files::objects::{self, FaultPlan, Faults, Memory, SharedObjects};

/// Runs the whole suite and fails with every check that did not pass.
pub(crate) async fn conform(objects: &SharedObjects) {
    let temp = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    conformance::run(objects, temp.path(), |name, took, outcome| {
        println!("{took:>10.1?}  {name}");
        if let Err(failure) = outcome {
            failures.push(format!("{name}: {}", failure.0));
        }
    })
    .await
    .unwrap();
    assert!(failures.is_empty(), "{failures:#?}");
    let left = std::fs::read_dir(temp.path()).unwrap().count();
    assert_eq!(left, 0, "temp files are left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_conforms() {
    conform(&(Arc::new(Memory::default()) as SharedObjects)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrapper_without_faults_conforms() {
    conform(&(Faults::new(Arc::new(Memory::default()), FaultPlan::none(1)) as SharedObjects)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_conforms() {
    let root = tempfile::tempdir().unwrap();
    conform(&objects::open(&format!("file:{}", root.path().display())).unwrap()).await;
    let staged = std::fs::read_dir(root.path().join("staging")).unwrap().count();
    assert_eq!(staged, 0, "staged files are left");
}
