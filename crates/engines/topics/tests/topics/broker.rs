//! A Kafka of a test's own, to be killed and started again, made after the one that `cargo xtask test` runs.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A broker has this long to answer.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Broker {
    start: Vec<String>,
    env: Vec<(String, String)>,
    port: u16,
    child: Option<Child>,
    folder: tempfile::TempDir,
}

impl Broker {
    /// A broker that runs, or nothing: then the test ends and has run nothing.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let control = servers::given("DVOR_TEST_SERVICES", test)?;
        let control: Value = serde_json::from_slice(&fs::read(control).unwrap()).unwrap();
        let kafka = &control["services"]["kafka"];
        if kafka.is_null() {
            servers::absent(test, "a Kafka in the file of DVOR_TEST_SERVICES");
            return None;
        }
        let argv: Vec<String> = serde_json::from_value(kafka["argv"].clone()).unwrap();
        let env: std::collections::BTreeMap<String, String> =
            serde_json::from_value(kafka["env"].clone()).unwrap_or_default();
        let (port, folder) = (servers::free_port(), tempfile::tempdir().unwrap());
        let settings = folder.path().join("server.properties");
        let (model, java) = argv.split_last().unwrap();
        fs::write(&settings, own_settings(&fs::read_to_string(model).unwrap(), port, folder.path())).unwrap();

        let mut start = java.to_vec();
        start.push(settings.display().to_string());
        let mut broker = Self { start, env: env.into_iter().collect(), port, child: None, folder };
        Self::format(java, &settings);
        broker.run();
        Some(broker)
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// As if the machine's power had gone.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn run(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let child = Command::new(&self.start[0])
            .args(&self.start[1..])
            .envs(self.env.clone())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        let mut child = child.unwrap();
        let started = Instant::now();
        let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        while TcpStream::connect(self.address()).is_err() {
            assert!(started.elapsed() < PATIENCE, "Kafka does not answer: {}", log());
            assert!(child.try_wait().unwrap().is_none(), "Kafka ended: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
        self.child = Some(child);
    }

    fn format(java: &[String], settings: &Path) {
        let (main, java) = java.split_last().unwrap();
        assert_eq!(main, "kafka.Kafka");
        let formatted = Command::new(&java[0])
            .args(&java[1..])
            .args(["kafka.tools.StorageTool", "format", "--cluster-id", "ZHZvci10ZXN0LWthZmthIQ", "--config"])
            .arg(settings)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stderr));
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The settings of the model with ports and a folder of our own.
fn own_settings(model: &str, port: u16, folder: &Path) -> String {
    let controller = servers::free_port();
    let own = |line: &str| match line.split_once('=').map_or("", |(name, _)| name) {
        "controller.quorum.voters" => format!("controller.quorum.voters=1@127.0.0.1:{controller}"),
        "listeners" => {
            format!("listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}")
        }
        "advertised.listeners" => format!("advertised.listeners=PLAINTEXT://127.0.0.1:{port}"),
        "log.dirs" => format!("log.dirs={}", folder.join("data").display()),
        _ => line.to_owned(),
    };
    model.lines().map(own).collect::<Vec<_>>().join("\n")
}
