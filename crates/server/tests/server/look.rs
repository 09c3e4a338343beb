//! Commands that look at a seller's feeds, offers and documents.

use serde_json::Value;

use crate::program::{Said, Server};

const GOODS: &str =
    "id,title,price,category\n1,Дрель Bosch 18 В,5990,Дрели\n2,Hammer 450 g,990,Молотки\n3,,100,Молотки\n";

/// A server with one load of the goods above, not all of which are offers.
fn loaded() -> Server {
    let server = Server::start();
    let file = server.data.path().join("goods.csv");
    std::fs::write(&file, GOODS).unwrap();
    let said = server.command(&["feed", "upload", file.to_str().unwrap(), "--seller", "shop", "--watch"]);
    assert_eq!(said.code, 0, "{said:?}");
    server
}

fn column(said: &Said, line: usize) -> Vec<&str> {
    said.out.lines().nth(line).unwrap_or_else(|| panic!("{said:?}")).split_whitespace().collect()
}

#[test]
fn a_seller_is_looked_at_by_commands() {
    let server = loaded();
    let json = |arguments: &[&str]| -> Value {
        let said = server.command(&[arguments, &["--json"]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        said.json()
    };
    assert_eq!(json(&["feed", "list", "shop"])["items"][0]["namespace"], "default");
    assert_eq!(
        column(&server.command(&["feed", "list", "shop"]), 1)[..4],
        ["default", "uploads", "1", "succeeded"]
    );
    let statistics = json(&["feed", "show", "shop"])["loads"][0]["statistics"].clone();
    let created = statistics["created"].as_u64().unwrap();
    assert!(statistics["total"] == 3 && created > 0, "{statistics}");
    assert_eq!(json(&["feed", "show", "shop", "--load", "1"])["status"], "succeeded");
    assert_eq!(json(&["feed", "watch", "shop"])["task_id"], "1");
    let errors = server.command(&["feed", "errors", "shop", "--json"]);
    let missing: Vec<Value> = errors.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        missing.iter().any(|error| error["external_id"] == "3" && error["field"] == "title"),
        "{errors:?}"
    );
    assert!(server.command(&["feed", "errors", "shop"]).out.contains("MESSAGE"));
    server.command(&["feed", "watch", "nobody"]).refused(3, &[]);
    server.command(&["feed", "show", "shop", "--load", "77"]).refused(3, &[]);

    let presets = json(&["seller", "presets", "shop"]);
    assert!(
        presets["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|item| item["preset"] == "all" && item["count"] == created)
    );
    assert_eq!(json(&["seller", "counters", "shop"])["active"], created);
    let out = server.data.path().join("shop.jsonl");
    assert_eq!(server.command(&["seller", "export", "shop", "--out", out.to_str().unwrap()]).code, 0);
    let exported = std::fs::read_to_string(&out).unwrap();
    assert_eq!(server.command(&["seller", "export", "shop"]).out, exported);
    let offers: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(offers.len() as u64, created);

    let id = offers[0]["id"].as_str().unwrap();
    assert_eq!(json(&["offer", "get", id]), offers[0]);
    assert!(server.command(&["offer", "get", id]).out.contains("title"));
    assert_eq!(json(&["offer", "events", id])["items"][0]["who"]["kind"], "feed");
    assert!(server.command(&["offer", "events", id]).out.contains("VERSION"));
    server.command(&["offer", "get", "0000-0000-0000-000"]).refused(2, &[]);

    server.command(&["fsck", "--seller", "nosuch", "--dry-run"]).refused(3, &["nosuch"]);
    assert_eq!(server.command(&["fsck", "--seller", "shop", "--dry-run"]).code, 0);
}

#[test]
fn records_of_our_topics_are_decoded() {
    let server = loaded();
    let tail = |more: &[&str]| {
        let said = server.command(&[&["topic", "tail", "offers.changes", "--json"], more].concat());
        let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines
    };
    let changes = tail(&[]);
    let change = &changes.last().unwrap()["payload"];
    let id = change["offer"]["id"].as_str().unwrap();
    assert_eq!(server.command(&["offer", "get", id, "--json"]).json()["id"], id, "an id as people see it");
    assert!(tail(&["--raw"]).iter().all(|record| record["encoding"] == "base64"));

    server.command(&["snippets", "get", "offer/card", "nobody"]).refused(3, &[]);
    server.command(&["snippets", "put", "nothing", "1", "--file", "no.json"]).refused(1, &["no.json"]);
    let missing = ["snippets", "get", "offer/card", id, "--server", "127.0.0.1:1"];
    server.command(&missing).refused(2, &["--snippets-server"]);
}

#[test]
fn a_document_is_written_read_and_deleted_by_commands() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("c.pb.txt");
    std::fs::write(&config, "Body { Output: JSON InputSameAsOutput: true Section { Name: \"note\" } }")
        .unwrap();
    std::fs::write(folder.path().join("key_prefixes.txt"), "note 1\n").unwrap();
    let server = Server::start_with(|command| {
        command.arg("--snippets-config").arg(&config);
    });
    let file = folder.path().join("note.json");
    std::fs::write(&file, "{\"a\": 1}").unwrap();
    let put = server.command(&["snippets", "put", "note", "k/1", "--file", file.to_str().unwrap()]);
    assert_eq!((put.code, &put.json()["snippets"][0]), (0, &Value::from("note")), "{put:?}");
    let read = server.command(&["snippets", "get", "note", "k/1"]);
    assert!(read.code == 0 && read.out.contains("\"a\""), "{read:?}");
    let elsewhere = ["snippets", "get", "note", "k/1", "--snippets-server", &server.snippets];
    assert_eq!(server.command(&elsewhere).out, read.out);
    assert_eq!(server.command(&["snippets", "delete", "note", "k/1"]).code, 0);
    server.command(&["snippets", "get", "note", "k/1"]).refused(3, &[]);

    let path = file.to_str().unwrap();
    let put = ["snippets", "put", "note", "2", "--language", "en", "--file", path];
    assert_eq!(server.command(&put).code, 0);
    let english = ["snippets", "get", "note", "2", "--language", "en"];
    let read = server.command(&english);
    assert!(read.code == 0 && read.out.contains("\"a\""), "{read:?}");
    server.command(&["snippets", "get", "note", "2", "--language", "ru"]).refused(3, &[]);
    assert_eq!(server.command(&["snippets", "delete", "note", "2", "--language", "en"]).code, 0);
    server.command(&english).refused(3, &[]);
    let named = ["snippets", "check", "--snippets-config", config.to_str().unwrap()];
    assert!(server.command(&named).out.contains("1 snippets"));
    assert!(server.command(&["snippets", "check"]).out.contains("comes with Dvor"));
}

#[test]
fn a_server_is_named_with_or_without_its_scheme() {
    let server = Server::start();
    let address = server.http.strip_prefix("http://").unwrap().to_owned();
    assert_eq!(server.command(&["topic", "list", "--server", &address]).code, 0);
    server.command(&["topic", "list", "--server", &format!("https://{address}")]).refused(5, &["TLS"]);
    server.command(&["topic", "list", "--server", "127.0.0.1:1"]).refused(5, &["nothing listens there"]);
    server
        .command(&["topic", "list", "--server", "ftp://x"])
        .refused(2, &["--server", "http://127.0.0.1:7080"]);
}
