//! Reading the configuration anew, in one process and in several.

use cluster::Cluster;
use kit::{Clock, Shutdown, Tasks};
use snippets::{Error, Registry, Settings, Snippets};
use spine::Base;

use crate::world::{World, memory, write_config};

fn config(names: &[&str]) -> String {
    let sections: Vec<_> = names.iter().map(|name| format!("Section {{ Name: \"{name}\" }}")).collect();
    format!("Body {{ Output: JSON InputSameAsOutput: true {} }}", sections.join(" "))
}

/// A tool that writes the file anew empties it first.
#[tokio::test]
async fn a_configuration_without_snippets_is_refused_and_the_old_one_stays() {
    let world = World::of(&config(&["a"]), &[]).await;
    world.put("/a/1", "1").await.is(200);
    for text in ["", "\n", "Body { }", "Body { Output: JSON ChildrenOnly: true }"] {
        std::fs::write(world.folder.path().join("config.pb.txt"), text).unwrap();
        let error = world.snippets.reload().await.unwrap_err();
        assert!(matches!(error, Error::Config(_)) && error.to_string().contains("no snippet"), "{error}");
        world.get("/a/1").await.is(200);
    }
}

/// Whoever asks for a reload has what was in the file then, or something newer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_reloads_at_once_the_newest_configuration_stays() {
    let world = World::of(&config(&["a", "b"]), &[]).await;
    let path = world.folder.path().join("config.pb.txt");
    let write = |names: &[&str]| {
        let new = path.with_extension("new");
        std::fs::write(&new, config(names)).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    for round in 0..100 {
        let mut reloads = Vec::new();
        for names in [&["a"][..], &["a", "b"][..]] {
            write(names);
            for _ in 0..4 {
                let snippets = world.snippets.clone();
                reloads.push(tokio::spawn(async move { snippets.reload().await }));
            }
            tokio::task::yield_now().await;
        }
        for reload in reloads {
            reload.await.unwrap().unwrap();
        }
        assert_eq!(world.snippets.config().snippets().count(), 2, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_work_by_different_configurations_are_told() {
    let (store, clock) = (memory(), Clock::system());
    let mut processes = Vec::new();
    for id in ["one", "two"] {
        let folder = tempfile::tempdir().unwrap();
        write_config(folder.path(), &config(&["a", "b"]), &[]);
        let tasks = Tasks::new(Shutdown::new());
        let joining = cluster::Options {
            id: Some(id.to_owned()),
            roles: vec![snippets::ROLE.to_owned()],
            ..cluster::Options::default()
        };
        let cluster = Cluster::join(store.clone(), clock.clone(), joining, &tasks).await.unwrap();
        let base = Base { cluster, ..Base::alone(store.clone(), clock.clone()) };
        let settings = Settings { config: Some(folder.path().join("config.pb.txt")), ..Settings::default() };
        let opened = Snippets::open(&base, settings, Registry::shipped()).await.unwrap();
        processes.push((opened, folder, tasks));
    }
    let [(one, _, _), (two, folder, tasks)] = &processes[..] else { panic!("there are two") };
    assert_eq!(one.differing().await.unwrap(), Vec::<String>::new());
    std::fs::write(folder.path().join("config.pb.txt"), config(&["a"])).unwrap();
    assert_eq!(one.differing().await.unwrap(), Vec::<String>::new(), "nobody has read it yet");
    two.reload().await.unwrap();
    assert_eq!(
        (one.differing().await.unwrap(), two.differing().await.unwrap()),
        (vec!["two".into()], vec!["one".into()])
    );
    std::fs::write(folder.path().join("config.pb.txt"), config(&["a", "b"])).unwrap();
    two.reload().await.unwrap();
    assert_eq!(one.differing().await.unwrap(), Vec::<String>::new());
    tasks.shutdown().call();
}
