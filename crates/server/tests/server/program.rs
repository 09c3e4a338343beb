//! Starts the program and looks at what it says.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program without the settings of whoever runs the tests.
pub fn dvor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dvor"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DVOR_")) {
        command.env_remove(name);
    }
    // Tests run side by side, and nobody should meet at the usual port.
    command.env("DVOR_SNIPPETS", "127.0.0.1:0");
    command
}

/// What a finished run said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The run failed with this code and one sentence that holds these words.
    #[track_caller]
    pub fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        let sentence = self.err.lines().last().unwrap_or_default();
        assert!(sentence.starts_with("dvor: "), "{self:?}");
        for word in words {
            assert!(sentence.contains(word), "{word:?} is not in {sentence:?}");
        }
        for noise in ["panicked", "RUST_BACKTRACE", "stack backtrace", "Error {"] {
            assert!(!self.err.contains(noise), "{noise:?} is in {self:?}");
        }
    }
}

pub fn run(command: &mut Command) -> Said {
    let output = command.stdin(Stdio::null()).output().expect("the program runs");
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A server in a folder of its own.
pub struct Server {
    child: Child,
    pub data: TempDir,
    pub http: String,
    pub grpc: String,
    pub snippets: String,
}

impl Server {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), |_| {})
    }

    pub fn start_with(change: impl FnOnce(&mut Command)) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), change)
    }

    pub fn start_in(data: TempDir, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = dvor();
        command.env("DVOR_HTTP", "127.0.0.1:0").env("DVOR_GRPC", "127.0.0.1:0");
        command.args(["serve", "--data"]).arg(data.path());
        change(&mut command);
        let log = std::fs::File::create(data.path().join("log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut server =
            Self { child, data, http: String::new(), grpc: String::new(), snippets: String::new() };
        let running = server.running();
        let address = |key: &str| format!("http://{}", running[key].as_str().expect("an address"));
        (server.http, server.grpc, server.snippets) = (address("http"), address("grpc"), address("snippets"));
        server
    }

    /// Waits for `dvor.json` of this very process.
    fn running(&mut self) -> Value {
        let began = Instant::now();
        loop {
            let found = std::fs::read(self.data.path().join("dvor.json")).unwrap_or_default();
            if let Ok(running) = serde_json::from_slice::<Value>(&found)
                && running["pid"] == self.child.id()
            {
                return running;
            }
            let alive = self.child.try_wait().unwrap().is_none();
            assert!(alive && began.elapsed() < PATIENCE, "the server did not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.path().join("log")).unwrap_or_default()
    }

    /// A command on the data folder of this server.
    pub fn command(&self, arguments: &[&str]) -> Said {
        run(dvor().args(arguments).arg("--data").arg(self.data.path()))
    }

    /// A new access token.
    pub fn token(&self, scope: &str) -> String {
        let made = self.command(&["token", "create", "--scope", scope]);
        assert_eq!(made.code, 0, "{made:?}");
        made.out.trim().to_owned()
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        client().request(method, format!("{}{path}", self.http))
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        answer(self.request(Method::GET, path)).await
    }

    pub async fn get_as(&self, token: &str, path: &str) -> (StatusCode, Value) {
        answer(self.request(Method::GET, path).bearer_auth(token)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        answer(self.request(Method::POST, path).json(&body)).await
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end of the process; gives the exit code and the folder.
    pub fn ended(mut self) -> (i32, TempDir) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        };
        (status.code().unwrap_or(-1), std::mem::replace(&mut self.data, tempfile::tempdir().unwrap()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that ended the server itself has nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn client() -> reqwest::Client {
    // A second time it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

pub async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.expect("the server answers");
    let status = response.status();
    let bytes = response.bytes().await.unwrap();
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}

/// Compares with a golden file; `DVOR_TEST_UPDATE=1` writes it anew.
#[track_caller]
pub fn golden(name: &str, found: &str) {
    let path = Path::new("tests/golden").join(name);
    if std::env::var_os("DVOR_TEST_UPDATE").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs; look at it and run again with DVOR_TEST_UPDATE=1:\n{found}");
}

/// Looks again and again until what is looked for is there; what is seen in its place is told when it never comes.
pub async fn eventually<T>(mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => assert!(began.elapsed() < PATIENCE, "it never came to it: {seen}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asks again and again until the answer is yes.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    eventually(async || if holds().await { Ok(()) } else { Err(what.to_owned()) }).await;
}
