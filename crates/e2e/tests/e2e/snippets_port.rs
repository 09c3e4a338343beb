//! The snippets' port of the real program: every route, addresses of those who mean no good, messages of a topic; on the
//! embedded engines and on PostgreSQL with Kafka.

use std::path::Path;

use e2e::http::{Answer, Client};
use e2e::program::Program;
use serde_json::{Value, json};
use servers::Database;

use crate::patience::until;

const JSON: &str = "content-type: json\r\n";

fn config(topic: &str) -> String {
    format!(
        r#"Body {{ Output: JSON InputSameAsOutput: true InputJsonSchema: "number.json"
  Section {{ Name: "note" Body {{ InputJsonSchema: "" }} }}
  Section {{ Name: "brief" Body {{ TtlMinutes: 1 }} }}
  Section {{ Name: "news" Body {{ InputTopic: "{topic}" InputForLB: JSON KeyExtractor: "key" UploadOverLBRetryCount: 1 }} }}
  Section {{ Name: "pair" Body {{ Recursive: ["loose", "other", "strict"]
    Section {{ Name: "loose" Body {{ InputJsonSchema: "" }} }}
    Section {{ Name: "other" Body {{ InputJsonSchema: "" }} }}
    Section {{ Name: "strict" }} }} }} }}"#
    )
}

struct Port {
    program: Program,
    client: Client,
}

impl Port {
    async fn open(folder: &Path, topic: &str, arguments: &[&str]) -> Self {
        let schema = r#"{"properties": {"n": {"type": "integer"}}}"#;
        let numbers = "note 1\nbrief 2\nnews 3\npair/loose 4\npair/other 5\npair/strict 6\n";
        let settings = "snippets_retry_pause_ms = 50\n[embedded]\nreserve_bytes = 0\n";
        for (name, text) in [
            ("config.pb.txt", config(topic).as_str()),
            ("number.json", schema),
            ("key_prefixes.txt", numbers),
            ("dvor.toml", settings),
        ] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let path = |name: &str| folder.join(name).display().to_string();
        let (config, settings) = (path("config.pb.txt"), path("dvor.toml"));
        let own = ["--snippets-config", config.as_str(), "--config", settings.as_str()];
        let program = Program::start(&folder.join("data"), &[&own, arguments].concat()).unwrap();
        let client = Client::connect(program.snippets.unwrap()).await.unwrap();
        Self { program, client }
    }

    async fn ask(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.client.ask(method, path, headers, body.as_bytes()).await.unwrap()
    }

    #[track_caller]
    fn is(answer: &Answer, status: u16) -> Value {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn put(&mut self, path: &str, body: &str, status: u16) -> Value {
        Self::is(&self.ask("PUT", path, JSON, body).await, status)
    }

    async fn call(&mut self, method: &str, path: &str, status: u16) -> Value {
        Self::is(&self.ask(method, path, "", "").await, status)
    }

    async fn lookup(&mut self, name: &str, key: &str) -> Value {
        let question = json!({"names": [name], "keys": [key]}).to_string();
        Self::is(&self.ask("POST", "/-/lookup", JSON, &question).await, 200)["items"].clone()
    }

    /// Publishes through the other port.
    async fn publish(&self, topic: &str, key: &str, payload: &Value) {
        let mut client = Client::connect(self.program.http).await.unwrap();
        let records = json!({"records": [{"key": key, "payload": payload}]});
        let answer = client.post(&format!("/v1/topics/{topic}/records"), &records).await.unwrap();
        assert!(answer.status < 300, "{}", String::from_utf8_lossy(&answer.body));
    }
}

async fn every_route(port: &mut Port) {
    // A server on Kafka is ready when it has found its broker.
    until("it is ready", async || port.ask("GET", "/readyz", "", "").await.status == 200).await;
    for probe in ["/healthz", "/metrics"] {
        assert_eq!(port.ask("GET", probe, "", "").await.status, 200, "{probe}");
    }
    assert_eq!(port.put("/note/k", r#"{"a": 1}"#, 200).await, json!({"key": "k", "snippets": ["note"]}));
    let got = port.ask("GET", "/note/k", "", "").await;
    let etag = got.etag.clone().unwrap();
    assert_eq!(Port::is(&got, 200), json!({"note": {"a": 1}}));
    let unchanged = port.ask("GET", "/note/k", &format!("if-none-match: {etag}\r\n"), "").await;
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    let plain = port.ask("GET", "/note/k", "accept: application/octet-stream\r\n", "").await;
    assert_eq!(plain.body, br#"{"a": 1}"#);
    let language = "content-language: pt-BR\r\n";
    Port::is(&port.ask("PUT", "/note/k", &format!("{JSON}{language}"), "2").await, 200);
    assert_eq!(port.call("GET", "/note/k/pt-BR", 200).await, json!({"note": 2}));
    Port::is(&port.ask("DELETE", "/note/k", language, "").await, 200);
    port.call("GET", "/note/k/pt-BR", 404).await;
    port.call("DELETE", "/note/k", 200).await;
    port.call("GET", "/note/k", 404).await;

    port.put("/brief/k", r#"{"n": 1}"#, 200).await;
    let found = port.lookup("brief", "k").await;
    assert!(found[0]["expires_at"].is_string() && found[0]["content"] == json!({"n": 1}), "{found}");
    assert_eq!(port.ask("GET", "/-/constant?bytes=300", "", "").await.body.len(), 300);
    port.call("GET", "/-/constant?bytes=1048577", 422).await;
    port.call("POST", "/-/reload", 204).await;
    port.call("POST", "/note/k", 405).await;
    // The third of a group refuses: the answer says who and where, and none of them is stored.
    let refused = port.put("/pair/k", r#"{"n": "one"}"#, 422).await;
    assert_eq!(refused["errors"][0]["field"], "pair/strict#/n", "{refused}");
    for name in ["loose", "other", "strict"] {
        port.call("GET", &format!("/pair/{name}/k"), 404).await;
    }
    port.put("/pair/k", r#"{"n": 1}"#, 200).await;
    assert_eq!(port.call("GET", "/pair/k", 200).await.as_object().unwrap().len(), 3);
}

/// A key is stored exactly, or the address is refused.
async fn hostile_addresses(port: &mut Port) {
    let (long, too_long) = ("x".repeat(1_024), "x".repeat(10_240));
    let exact = [
        ("..", ".."),
        ("%2e%2e", ".."),
        ("%2E%2E%2Fetc%2Fpasswd", "../etc/passwd"),
        ("b%2Fc", "b/c"),
        ("%252F", "%2F"),
        ("%D0%BA%D0%BB%D1%8E%D1%87", "ключ"),
        ("'%22%5C%0A", "'\"\\\n"),
        (&long, &long),
    ];
    for (number, (written, key)) in exact.into_iter().enumerate() {
        port.put(&format!("/note/{written}"), &number.to_string(), 200).await;
        assert_eq!(port.call("GET", &format!("/note/{written}"), 200).await, json!({"note": number}));
        let found = port.lookup("note", key).await;
        assert_eq!((&found[0]["content"], &found[0]["key"]), (&json!(number), &json!(key)), "{written}");
        port.call("DELETE", &format!("/note/{written}"), 200).await;
        assert_eq!(port.lookup("note", key).await, json!([]), "{written}");
    }
    let refused = [
        "/note/%00".to_owned(),
        "/note/x%00y".to_owned(),
        "/note/%ff".to_owned(),
        "/note/%zz".to_owned(),
        "/note/k?x=1".to_owned(),
        "/note/".to_owned(),
        "/note".to_owned(),
        "/note//k".to_owned(),
        "/../note/k".to_owned(),
        "/./note/k".to_owned(),
        "/note/../pair/k".to_owned(),
        "/pair/%2e%2e/note/k".to_owned(),
        "/%D0%B7/k".to_owned(),
        "/note%2Fk".to_owned(),
        format!("/note/{too_long}"),
        format!("/{too_long}/k"),
    ];
    for path in &refused {
        port.put(path, "1", 400).await;
        port.call("GET", path, 400).await;
    }
    for language in ["..", "%00", "RU", "ru%2Fen", "%D1%80%D1%83", too_long.as_str()] {
        port.call("GET", &format!("/note/k/{language}"), 400).await;
    }
    for language in ["..", "RU", "ru/en", too_long.as_str()] {
        let headers = format!("{JSON}content-language: {language}\r\n");
        Port::is(&port.ask("PUT", "/note/k", &headers, "1").await, 400);
    }
    port.call("GET", "/note/k", 404).await;
}

async fn messages_of_a_topic(port: &mut Port, topic: &str) {
    port.publish(topic, "good", &json!({"n": 1})).await;
    port.publish(topic, "bad", &json!({"n": "one"})).await;
    until("a message becomes a snippet", async || {
        port.lookup("news", "good").await[0]["content"] == json!({"n": 1})
    })
    .await;
    let mut letter = Value::Null;
    until("a bad message becomes a dead letter", async || {
        letter = port.call("GET", "/-/dead-letters", 200).await["items"][0].clone();
        letter["key"] == "bad" && letter["not_before"].is_null()
    })
    .await;
    assert_eq!(letter["attempts"], 2, "{letter}");
    let path = format!("/-/dead-letters/{}", letter["id"].as_str().unwrap());
    let refused = port.call("POST", &format!("{path}/retry"), 422).await;
    assert_eq!(refused["errors"][0]["field"], "news#/n");
    port.put("/news/bad", r#"{"n": 2}"#, 200).await;
    // It is as wrong as before, but there is nothing left that it could write.
    port.call("POST", &format!("{path}/retry"), 409).await;
    port.call("DELETE", &path, 204).await;
    port.call("DELETE", &path, 404).await;
    assert_eq!(port.lookup("news", "bad").await[0]["content"], json!({"n": 2}));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_on_the_embedded_engines() {
    let folder = tempfile::tempdir().unwrap();
    let mut port = Port::open(folder.path(), "news", &[]).await;
    every_route(&mut port).await;
    hostile_addresses(&mut port).await;
    messages_of_a_topic(&mut port, "news").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_on_postgresql_and_kafka() {
    let test = "every_route_answers_on_postgresql_and_kafka";
    let Some(database) = Database::create(test).await else { return };
    let Some(kafka) = servers::kafka(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    // The broker is shared, so the topic is our own, and roles that read the usual ones stay away.
    let topic = format!("news_{}", kit::random_id());
    let kafka = format!("kafka://{kafka}");
    let engines = ["--store", database.url.as_str(), "--topics", &kafka, "--roles", "api,snippets"];
    let mut port = Port::open(folder.path(), &topic, &engines).await;
    every_route(&mut port).await;
    hostile_addresses(&mut port).await;
    messages_of_a_topic(&mut port, &topic).await;
}
