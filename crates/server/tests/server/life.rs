use std::os::unix::fs::PermissionsExt as _;

use reqwest::Method;
use serde_json::{Value, json};

use crate::program::{Server, dvor, run, until};

#[tokio::test]
async fn a_server_ends_cleanly_when_asked() {
    let server = Server::start();
    let mode =
        |name: &str| std::fs::metadata(server.data.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("dvor.json"), mode("dvor.key")), (0o600, 0o600));
    let made = server.post("/v1/admin/tokens", json!({"name": "kept", "scopes": ["admin"]})).await;
    assert_eq!(made.0, 201);
    server.signal("TERM");
    let (code, data) = server.ended();
    assert_eq!(code, 0);
    for gone in ["dvor.json", "dvor.key"] {
        assert!(!data.path().join(gone).exists(), "{gone} is left");
    }
    let listed = run(dvor().args(["token", "list", "--json", "--data"]).arg(data.path()));
    assert_eq!(listed.json()["items"][0]["name"], "kept", "{listed:?}");
}

#[tokio::test]
async fn an_ending_server_says_that_it_is_not_ready() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__DRAIN_MS", "3000");
    });
    server.signal("TERM");
    until("not ready", async || server.get("/readyz").await.0 == 503).await;
    let (status, body) = server.get("/readyz").await;
    assert_eq!((status.as_u16(), &body["errors"][0]["code"]), (503, &Value::from("ending")), "{body}");
    assert_eq!(server.get("/healthz").await.0, 200);
    assert_eq!(server.ended().0, 0);
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let server = Server::start_with(|command| {
        command.env("DVOR_LIMITS__DRAIN_MS", "60000");
    });
    server.signal("INT");
    until("not ready", async || server.get("/readyz").await.0 == 503).await;
    server.signal("INT");
    assert_eq!(server.ended().0, 1);
}

#[test]
fn a_port_in_use_is_named_with_its_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let port = address.rsplit(':').next().unwrap();
    let data = tempfile::tempdir().unwrap();
    let serve = |http: &str, grpc: &str| {
        run(dvor().args(["serve", "--http", http, "--grpc", grpc, "--data"]).arg(data.path()))
    };
    serve(&address, "127.0.0.1:0").refused(5, &[port, "in use", "--http"]);
    serve("127.0.0.1:0", &address).refused(5, &[port, "in use", "--grpc"]);
    assert!(!data.path().join("dvor.json").exists());
}

#[test]
fn a_data_folder_serves_one_process() {
    let server = Server::start();
    let pid = std::fs::read_to_string(server.data.path().join("dvor.json")).unwrap();
    let pid = serde_json::from_str::<Value>(&pid).unwrap()["pid"].to_string();
    let second = server.command(&["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]);
    second.refused(5, &["in use", &pid]);
    server.command(&["restore", "nothing.backup"]).refused(5, &["in use", &pid]);
    // Nothing was damaged, and the first one's file is still there.
    assert_eq!(server.command(&["token", "list"]).code, 0);
}

#[test]
fn a_killed_server_leaves_nothing_in_the_way() {
    let server = Server::start();
    let token = server.token("admin");
    server.signal("KILL");
    let (_, data) = server.ended();
    assert!(data.path().join("dvor.json").exists());
    let listed = run(dvor().args(["token", "list", "--json", "--data"]).arg(data.path()));
    assert_eq!(listed.json()["items"][0]["id"], token.split('_').nth(1).unwrap());
    let again = Server::start_in(data, |_| {});
    assert_eq!(again.command(&["token", "list", "--json"]).json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn calls_under_way_are_finished() {
    let server = Server::start();
    // Half a request: the head now, the body after the signal.
    let mut stream = tokio::net::TcpStream::connect(server.http.trim_start_matches("http://")).await.unwrap();
    let host = server.http.trim_start_matches("http://").to_owned();
    let body = json!({"name": "late", "scopes": ["admin"]}).to_string();
    let head = format!(
        "POST /v1/admin/tokens HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut goes_on = [0; 25];
    stream.read_exact(&mut goes_on).await.unwrap();
    assert_eq!(goes_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
    server.signal("TERM");
    until("no new calls", async || server.request(Method::GET, "/healthz").send().await.is_err()).await;
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(server.ended().0, 0);
}

#[test]
fn a_full_disk_is_one_sentence() {
    let data = tempfile::tempdir().unwrap();
    let full = run(dvor()
        .env("DVOR_EMBEDDED__RESERVE_BYTES", "9000000000000000")
        .args(["token", "create", "--scope", "admin", "--data"])
        .arg(data.path()));
    full.refused(1, &["room"]);
    let made = run(dvor().args(["token", "create", "--scope", "admin", "--data"]).arg(data.path()));
    assert_eq!(made.code, 0, "nothing is damaged: {made:?}");
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let data = tempfile::tempdir().unwrap();
    let list = || run(dvor().args(["token", "list", "--data"]).arg(data.path()));
    list().refused(3, &["there is no store in"]);
    assert_eq!(run(dvor().args(["token", "create", "--scope", "admin", "--data"]).arg(data.path())).code, 0);
    let format = data.path().join("store/format");
    let known = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, "dvor store 99\n").unwrap();
    list().refused(1, &["newer version", "99"]);
    std::fs::write(&format, known).unwrap();
    assert_eq!(list().code, 0);
}

#[test]
fn a_postgresql_that_is_not_there_is_one_sentence() {
    let data = tempfile::tempdir().unwrap();
    let away = run(dvor()
        .args(["token", "list", "--store", "postgres://dvor:hidden@127.0.0.1:9/dvor", "--data"])
        .arg(data.path()));
    away.refused(5, &["127.0.0.1"]);
    assert!(!away.err.contains("hidden"), "{away:?}");
}

#[test]
fn an_unknown_store_or_a_missing_server_is_one_sentence() {
    let data = tempfile::tempdir().unwrap();
    let run_in = |arguments: &[&str]| run(dvor().args(arguments).arg("--data").arg(data.path()));
    run_in(&["token", "list", "--server", "http://127.0.0.1:9"])
        .refused(5, &["http://127.0.0.1:9", "does not answer"]);
    run_in(&["table", "list"]).refused(3, &["there is no store in"]);
    assert_eq!(run_in(&["token", "create", "--scope", "admin"]).code, 0);
    run_in(&["cluster", "show"]).refused(5, &["running server"]);
    run_in(&["table", "scan", "nonsense"]).refused(2, &["system.name"]);
    run_in(&["table", "scan", "access.tokns"]).refused(3, &["access.tokens"]);
    run_in(&["topic", "tail", "none"]).refused(3, &["there is no topic"]);
}

/// The server that `cargo xtask test` prepares asks for a password.
#[test]
fn a_wrong_postgresql_password_is_one_sentence() {
    let Ok(url) = std::env::var("DVOR_TEST_POSTGRES") else {
        assert!(std::env::var_os("CI").is_none(), "DVOR_TEST_POSTGRES is missing, and CI leaves nothing out");
        eprintln!("this test did nothing: DVOR_TEST_POSTGRES names no PostgreSQL server");
        return;
    };
    let (scheme, rest) = url.split_once("://").unwrap();
    let (user, host) = rest.split_once('@').expect("a user and a password");
    let wrong = format!("{scheme}://{}:wr0ng@{host}", user.split(':').next().unwrap());
    let data = tempfile::tempdir().unwrap();
    let refused = run(dvor()
        .args(["serve", "--store", &wrong, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--data"])
        .arg(data.path()));
    refused.refused(4, &["password"]);
    assert!(!refused.err.contains("wr0ng"), "{refused:?}");
}
