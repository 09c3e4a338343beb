use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::program::{Said, Server, answer, client, dvor, run, until};

const CONFIG: &str =
    "Body { Output: JSON InputSameAsOutput: true\n  Section { Name: \"note\" Body { TtlMinutes: 5 } }\n}";

fn in_folder(folder: &Path, arguments: &[&str]) -> Said {
    run(dvor().current_dir(folder).env("DVOR_DATA", folder.join("data")).args(arguments))
}

async fn call(
    server: &Server,
    method: Method,
    path: &str,
    body: Option<Value>,
    token: Option<&str>,
) -> (u16, Value) {
    let mut request = client().request(method, format!("{}{path}", server.snippets));
    if let Some(body) = body {
        request = request.json(&body);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let (status, body) = answer(request).await;
    (status.as_u16(), body)
}

/// What a caller hears who says nothing more after the call: it is finished.
async fn asked_and_left(server: &Server, line: &str, header: &str, body: &str) -> String {
    let address = server.snippets.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let call = format!("{line}\r\nhost: {address}\r\n{header}\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(call.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn snippets_have_a_port_of_their_own_behind_the_same_door() {
    let server = Server::start();
    assert_eq!(call(&server, Method::GET, "/healthz", None, None).await.0, 200);
    let (status, problem) = call(&server, Method::GET, "/offer/card/1/ru", None, None).await;
    assert_eq!((status, &problem["type"]), (404, &json!("urn:dvor:problem:not_found")));
    assert!(problem["request_id"].as_str().is_some_and(|id| id.len() == 32), "{problem}");
    assert_eq!(call(&server, Method::PUT, "/nothing/1", Some(json!(1)), None).await.0, 400);
    let (service, seller) = (server.token("service"), server.token("seller:s1"));
    for (token, status) in
        [(None, 401), (Some("dvor_x_y"), 401), (Some(seller.as_str()), 403), (Some(service.as_str()), 404)]
    {
        assert_eq!(call(&server, Method::GET, "/offer/card/1/ru", None, token).await.0, status, "{token:?}");
    }
    assert_eq!(call(&server, Method::POST, "/-/reload", None, Some(&service)).await.0, 403);
    assert_eq!(call(&server, Method::GET, "/healthz", None, None).await.0, 200);
}

#[tokio::test]
async fn a_configuration_lives_from_its_first_check_to_a_dropped_snippet() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("c.pb.txt"), text).unwrap();
    write(CONFIG);
    let command = |arguments: &[&str]| in_folder(folder.path(), arguments);
    command(&["snippets", "check", "c.pb.txt"]).refused(2, &["line 2", "note", "dvor snippets prefixes"]);
    let start = ["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--snippets-config", "c.pb.txt"];
    command(&start).refused(2, &["note has no key prefix", "dvor snippets prefixes"]);
    assert_eq!(command(&["snippets", "prefixes", "--snippets-config", "c.pb.txt"]).out, "note 1\n");
    assert_eq!(command(&["snippets", "check", "c.pb.txt"]).out, "c.pb.txt is valid and has 1 snippets\n");
    let explained =
        command(&["snippets", "explain", "note", "--snippets-config", "c.pb.txt", "--json"]).json();
    assert_eq!(
        explained["options"][2],
        json!({"option": "TtlMinutes", "value": "5", "section": "note", "line": 2})
    );
    command(&["snippets", "explain", "nute", "--snippets-config", "c.pb.txt"])
        .refused(3, &["did you mean \"note\"?"]);
    command(&["snippets", "check", "missing"]).refused(2, &["missing cannot be read"]);

    let path = folder.path().join("c.pb.txt");
    let server = Server::start_with(|command| {
        command.arg("--snippets-config").arg(&path);
    });
    assert_eq!(call(&server, Method::PUT, "/note/1", Some(json!({"a": 1})), None).await.0, 200);
    assert_eq!(call(&server, Method::GET, "/note/1", None, None).await, (200, json!({"note": {"a": 1}})));
    let answered = asked_and_left(&server, "PUT /note/1 HTTP/1.1", "content-type: json", "{}").await;
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    let large = client().put(format!("{}/note/1", server.snippets)).header("content-type", "json");
    assert_eq!(answer(large.body(vec![b'1'; 5 << 20])).await.0, 413);

    // A new snippet comes with SIGHUP, without a restart.
    write("Body { Output: JSON InputSameAsOutput: true Section { Name: \"memo\" } }");
    assert_eq!(command(&["snippets", "prefixes", "--snippets-config", "c.pb.txt"]).out, "memo 2\n");
    server.command(&["snippets", "drop", "note"]).refused(2, &["still works with snippet note", "reload"]);
    server.signal("HUP");
    let is_there = async || call(&server, Method::PUT, "/memo/1", Some(json!(2)), None).await.0 == 200;
    until("the new snippet is there", is_there).await;
    assert_eq!(call(&server, Method::GET, "/note/1", None, None).await.0, 400);
    server.command(&["snippets", "drop", "memo"]).refused(2, &["memo is configured"]);
    let dropped = server.command(&["snippets", "drop", "note"]);
    assert_eq!(dropped.out, "1 documents of note are gone, and its key prefix is retired\n", "{dropped:?}");
    assert!(
        std::fs::read_to_string(folder.path().join("key_prefixes.txt")).unwrap().contains("note 1 retired")
    );
}

/// Who waits for `100 Continue` need not send what is not taken.
#[tokio::test]
async fn content_over_the_limit_is_refused_before_it_is_sent() {
    let server = Server::start();
    let address = server.snippets.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let call = format!(
        "PUT /offer/card/1 HTTP/1.1\r\nhost: {address}\r\ncontent-type: json\r\nexpect: 100-continue\r\n\
         content-length: 99999999999\r\n\r\n"
    );
    stream.write_all(call.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4_096];
    let count = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("limits.body_bytes"), "{answer}");
    let (status, ready) = call_ready(&server).await;
    assert_eq!((status, ready.get("warnings")), (200, None), "one process differs from nobody");
}

async fn call_ready(server: &Server) -> (u16, Value) {
    call(server, Method::GET, "/readyz", None, None).await
}
