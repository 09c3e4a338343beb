use serde_json::Value;

use crate::program::{Said, Server, dvor, run};

fn lines(said: &Said) -> Vec<Value> {
    said.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said:?}")))
        .collect()
}

/// The same commands, with a server and without one.
#[test]
fn commands_work_through_a_server_and_without_one() {
    let server = Server::start();
    let script = |run: &dyn Fn(&[&str]) -> Said, topic: &str| {
        let made = run(&["topic", "publish", topic, "{\"n\":1}", "--key", "k", "--create"]);
        assert_eq!(made.code, 0, "{made:?}");
        assert_eq!(run(&["topic", "publish", topic, "plain words", "--key", "k"]).code, 0);
        let tail = lines(&run(&["topic", "tail", topic, "--json"]));
        assert_eq!(tail.len(), 2);
        assert_eq!(
            (&tail[0]["payload"]["n"], &tail[1]["payload"]),
            (&Value::from(1), &Value::from("plain words"))
        );
        assert_eq!(lines(&run(&["topic", "tail", topic, "--json", "--limit", "1"]))[0], tail[1]);
        let listed = run(&["topic", "list", "--json"]).json();
        assert!(listed["items"].as_array().unwrap().iter().any(|item| item["topic"] == topic));
        assert_eq!(run(&["topic", "rewind", topic, "--group", "g", "--to", "end"]).code, 0);
        let rows = lines(&run(&["table", "scan", "topics.topics", "--json"]));
        assert!(rows.iter().any(|row| row["key"]["topic"] == topic), "{rows:?}");
        let prefixed = lines(&run(&["table", "scan", "topics.topics", "--prefix", topic, "--json"]));
        assert_eq!(prefixed.len(), 1);
        assert!(run(&["table", "list"]).out.contains("topics.outbox"));
        run(&["topic", "publish", "missing", "x"]).refused(3, &["there is no topic"]);
    };
    script(&|arguments| server.command(arguments), "through.server");
    assert_eq!(server.command(&["cluster", "show", "--json"]).json()["items"][0]["alive"], true);
    server.signal("TERM");
    let (_, data) = server.ended();
    script(&|arguments| run(dvor().args(arguments).arg("--data").arg(data.path())), "without.server");
    let both = run(dvor().args(["topic", "list"]).arg("--data").arg(data.path())).out;
    assert!(both.contains("through.server") && both.contains("without.server"), "{both}");
}

#[test]
fn a_backup_is_taken_online_and_restored_elsewhere() {
    let server = Server::start();
    let token = server.token("service");
    let file = server.data.path().join("monday.backup");
    let taken = server.command(&["backup", file.to_str().unwrap(), "--json"]);
    assert_eq!((taken.code, &taken.json()["state"]), (0, &Value::from("done")), "{taken:?}");
    server.command(&["backup", file.to_str().unwrap()]).refused(2, &["not there yet"]);

    let elsewhere = tempfile::tempdir().unwrap();
    let restore = |file: &str| run(dvor().args(["restore", file, "--data"]).arg(elsewhere.path()));
    restore("no.backup").refused(3, &["no.backup"]);
    assert_eq!(restore(file.to_str().unwrap()).code, 0);
    let tokens = run(dvor().args(["token", "list", "--json", "--data"]).arg(elsewhere.path())).json();
    assert_eq!(tokens["items"][0]["id"], token.split('_').nth(1).unwrap());
    assert_ne!(restore(file.to_str().unwrap()).code, 0, "only an empty store takes a backup");
}

#[test]
fn a_store_is_copied_and_checked() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run_in = |arguments: &[&str]| run(dvor().args(arguments).arg("--data").arg(from.path()));
    assert_eq!(run_in(&["token", "create", "--scope", "admin", "--name", "moved"]).code, 0);
    let target = format!("embedded:{}", to.path().join("store").display());
    run_in(&["store", "copy", "--from", "embedded", "--to", "embedded"]).refused(2, &["the same store"]);
    let copied = run_in(&["store", "copy", "--from", "embedded", "--to", &target, "--json"]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(run_in(&["token", "list", "--json", "--store", &target]).json()["items"][0]["name"], "moved");

    let checked = run_in(&["store", "conformance", "--json"]);
    assert_eq!((checked.code, &checked.json()["failed"]), (0, &Value::from(0)), "{checked:?}");
    assert!(checked.json()["items"].as_array().unwrap().len() > 10);
}

#[test]
fn help_and_completions_are_there() {
    let help = run(dvor().arg("--help"));
    for word in ["serve", "demo", "token", "topic", "table", "backup", "Exit codes"] {
        assert!(help.out.contains(word), "{word} is not in {}", help.out);
    }
    for command in
        [&["token", "create"][..], &["topic", "tail"], &["table", "scan"], &["serve"], &["store", "copy"]]
    {
        assert!(run(dvor().args(command).arg("--help")).out.contains("Example"), "{command:?}");
    }
    assert!(run(dvor().args(["completions", "bash"])).out.contains("_dvor"));
}
