//! The example of a stage in Python, run for real: its packages come from PyPI, its stubs from this repository's `proto/`.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use reqwest::Method;
use serde_json::{Value, json};
use stages::api::grpc::StageStateClient;
use tonic::transport::Channel;
use tonic::{Code, Request};
use wire::Any;
use wire::stages::{ReadStateRequest, UpdateStateRequest};

use crate::program::{Server, answer, eventually, until};

const EXAMPLE: &str = "../../examples/stage-python";

/// A Python with the packages of the example, made once.
fn python() -> PathBuf {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stage-python");
    let (python, made) = (venv.join("bin/python"), venv.join("made"));
    if !made.exists() {
        let run = |command: &mut Command| {
            let done = command.output().expect("python3 with venv and pip is there");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv));
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        run(Command::new(&python).args(install).arg(format!("{EXAMPLE}/requirements.txt")));
        std::fs::write(&made, "").unwrap();
    }
    python
}

/// The example as it runs.
struct Plugin {
    child: Child,
    address: String,
    said: mpsc::Receiver<String>,
}

impl Plugin {
    fn start() -> Self {
        let script = format!("{EXAMPLE}/tidy.py");
        let mut command = Command::new(python());
        command.args(["-B", &script, "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (tell, said) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let first: String = said.recv().expect("it says where it serves");
        let address = first.strip_prefix("serving on ").expect("its address").to_owned();
        Self { child, address, said }
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn offer(server: &Server, token: &str, title: &str) -> String {
    let offer = json!({
        "seller_id": "a",
        "category": {"id": "smartphones"},
        "title": title,
        "attributes": [{"id": "brand", "value": "Apple"}],
    });
    let (status, offer) =
        answer(server.request(Method::POST, "/v1/offers").bearer_auth(token).json(&offer)).await;
    assert_eq!(status, 201, "{offer}");
    offer["id"].as_str().unwrap().to_owned()
}

async fn put(server: &Server, token: &str, id: &str, body: Value) -> (u16, Value) {
    let path = format!("/v1/stages/{id}");
    let (status, body) = answer(server.request(Method::PUT, &path).bearer_auth(token).json(&body)).await;
    (status.as_u16(), body)
}

#[tokio::test]
async fn a_stage_in_python_changes_an_offer_and_keeps_its_state_and_timer() {
    let (plugin, server) = (Plugin::start(), Server::start());
    let (admin, service) = (server.token("admin"), server.token("service"));
    let request = json!({"address": plugin.address, "calls_per_second": 50, "parallel": 8, "saved": "call"});
    assert_eq!(put(&server, &service, "tidy", request.clone()).await.0, 403);
    let (status, stage) = put(&server, &admin, "tidy", request).await;
    assert_eq!(
        (status, &stage["masks"], &stage["saved"]),
        (200, &json!(["title"]), &json!("call")),
        "{stage}"
    );
    assert_eq!(stage["description"], "Takes the shouting out of titles");

    let id = offer(&server, &admin, "SALE!!! IPHONE 13").await;
    let path = format!("/v1/offers/{id}");
    let read = async || server.get_as(&admin, &path).await.1;
    until("the title is tidy", async || read().await["title"] == "Sale! Iphone 13").await;
    let mine = eventually(async || {
        let (_, page) = server.get_as(&admin, &format!("{path}/stages")).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        items.into_iter().find(|item| item["stage"] == "tidy").ok_or_else(|| page.to_string())
    })
    .await;
    assert_eq!(mine["state_type"], "type.googleapis.com/google.protobuf.StringValue", "{mine}");
    assert!(mine["timer_at"].is_string() && mine["waits_for"] == "timer", "{mine}");
    let (_, events) = server.get_as(&admin, &format!("{path}/events")).await;
    assert!(events.to_string().contains("tidy"), "the history names the stage: {events}");

    let said = eventually(async || plugin.said.try_recv().map_err(|error| error.to_string())).await;
    assert!(said.ends_with("'SALE!!! IPHONE 13' is now 'Sale! Iphone 13'"), "{said}");
    let raw = said.split(':').next().unwrap().parse().unwrap();
    states(&server, raw, &service).await;

    let gone = server.request(Method::DELETE, "/v1/stages/tidy").bearer_auth(&admin);
    assert_eq!(answer(gone).await.0, 202);
    until("nothing is left of it", async || server.get_as(&admin, "/v1/stages/tidy").await.0 == 404).await;
    let (_, page) = server.get_as(&admin, &format!("{path}/stages")).await;
    assert!(!page.to_string().contains("tidy"), "{page}");
    assert_eq!(read().await["title"], "Sale! Iphone 13");
}

/// A plug-in's token reads and writes the state of its own stage, and of no other.
async fn states(server: &Server, offer_id: i64, service: &str) {
    let channel = Channel::from_shared(server.grpc.clone()).unwrap().connect().await.unwrap();
    let mut client = StageStateClient::new(channel);
    let (own, other) = (server.token("stage:tidy"), server.token("stage:photos"));
    fn with<T>(token: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request
    }
    let asked = ReadStateRequest { stage: "tidy".to_owned(), offer_id };
    let refused = client.read(with(&other, asked.clone())).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused:?}");
    assert_eq!(client.read(Request::new(asked.clone())).await.unwrap_err().code(), Code::Unauthenticated);
    let read = client.read(with(&own, asked.clone())).await.unwrap().into_inner();
    assert!(read.state.unwrap().value.ends_with(b"SALE!!! IPHONE 13") && read.version > 0);
    let state = Any { type_url: "test/Note".to_owned(), value: b"mine".to_vec() };
    let update = |version| UpdateStateRequest {
        stage: "tidy".to_owned(),
        offer_id,
        state: Some(state.clone()),
        version,
    };
    let stale = client.update(with(&own, update(read.version - 1))).await.unwrap().into_inner();
    assert!(!stale.updated);
    let written = client.update(with(&own, update(read.version))).await.unwrap().into_inner();
    assert!(written.updated);
    let read = client.read(with(service, asked)).await.unwrap().into_inner();
    assert_eq!(read.state, Some(state.clone()));
    let unknown = UpdateStateRequest { offer_id: 5, ..update(0) };
    assert_eq!(client.update(with(&own, unknown)).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn what_is_said_of_a_plug_in_is_checked() {
    let server = Server::start();
    let admin = server.token("admin");
    let good = json!({"address": "http://127.0.0.1:9", "masks": ["price"]});
    let with = |key: &str, value: Value| {
        let mut request = good.clone();
        request[key] = value;
        request
    };
    for (key, value) in [
        ("address", json!("127.0.0.1:9")),
        ("masks", json!(["colour"])),
        ("deadline_ms", json!(5_000)),
        ("calls_per_second", json!(-1)),
        ("parallel", json!(1_000_000)),
        ("traverse_every_hours", json!(1_000_000)),
        ("tls", json!({"ca": "no certificate"})),
    ] {
        let (status, problem) = put(&server, &admin, "colors", with(key, value)).await;
        assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!(key)), "{problem}");
    }
    assert_eq!(put(&server, &admin, "Colors", good.clone()).await.0, 422);
    assert_eq!(put(&server, &admin, "photos", good.clone()).await.0, 409, "it comes with the program");
    let (status, problem) = put(&server, &admin, "colors", json!({"address": "http://127.0.0.1:9"})).await;
    assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!("masks")), "{problem}");
    // Nobody is there, and with masks it may come later.
    let (status, stage) = put(&server, &admin, "colors", good.clone()).await;
    assert_eq!((status, &stage["address"]), (200, &good["address"]), "{stage}");
    let gone = server.request(Method::DELETE, "/v1/stages/photos").bearer_auth(&admin);
    assert_eq!(answer(gone).await.0, 409);
}

#[tokio::test]
async fn plug_ins_of_the_configuration_are_registered_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dvor.toml");
    std::fs::write(&file, "[stages.plugin.colors]\naddress = \"http://127.0.0.1:9\"\nparallel = 3\n")
        .unwrap();
    let server = Server::start_with(|command| {
        command.arg("--config").arg(&file);
    });
    let (status, stage) = server.get("/v1/stages/colors").await;
    assert_eq!(status, 200, "{stage}");
    // It does not run, so it is told of everything.
    assert_eq!((&stage["parallel"], &stage["masks"]), (&json!(3), &json!([])), "{stage}");
}
