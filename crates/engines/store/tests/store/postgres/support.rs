//! Servers, databases and tables for the tests.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use store::{Options, Schema, Space, Store, Table};
use tokio_postgres::{Client, NoTls};

pub(crate) const WORDS: Table<(String, i64), Vec<u8>> =
    Table::new("lexicon", "words", &["language", "number"], Space::Small);
pub(crate) const COUNTERS: Table<(String,), u64> = Table::new("lexicon", "counters", &["name"], Space::Small);
pub(crate) type AnyKey = (String, i64, u32, Vec<u8>, kit::Timestamp);
pub(crate) const EVERYTHING: Table<AnyKey, Vec<u8>> =
    Table::new("odd things", "every\"thing", &["text", "order", "number", "bytes", "due at"], Space::Large);

pub(crate) fn schema() -> Schema {
    Schema::new([WORDS.spec(), COUNTERS.spec(), EVERYTHING.spec()])
}

pub(crate) async fn open(url: &str) -> Store {
    Store::open(&[url.to_owned()], schema(), &Options::default()).await.unwrap()
}

/// Where to do without what is missing is decided here and nowhere else: by hand yes, in CI never.
fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{what}, and CI leaves nothing out");
    eprintln!("this test did nothing: {what}");
    None
}

/// A database of the test's own on the server of `DVOR_TEST_POSTGRES`; dropped with the value.
pub(crate) struct Database {
    server: String,
    name: String,
    pub(crate) url: String,
}

impl Database {
    pub(crate) async fn create() -> Option<Self> {
        let Ok(server) = std::env::var("DVOR_TEST_POSTGRES") else {
            return missing("DVOR_TEST_POSTGRES names no PostgreSQL server");
        };
        Some(Self::create_on(server).await)
    }

    pub(crate) async fn create_on(server: String) -> Self {
        let name = format!("dvor_test_{}", kit::random_id());
        let admin = connect(&server).await;
        // Ordered by the rules of a language where the server can, so that the tests see whether we depend on it.
        let create = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'");
        let ordered = format!("{create} LOCALE_PROVIDER icu ICU_LOCALE 'ru'");
        if admin.batch_execute(&ordered).await.is_err() {
            admin.batch_execute(&create).await.unwrap();
        }
        Self { url: with_database(&server, &name), server, name }
    }

    /// A connection past the store, to look and to break.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // Dropping is no place to wait in, so another thread does; the server may be gone by now.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                if let Ok((client, connection)) = tokio_postgres::connect(&server, NoTls).await {
                    tokio::spawn(connection);
                    let _ = client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
                }
            });
        });
        let _ = dropping.join();
    }
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The same URL with another database.
pub(crate) fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    let question = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{host}/{name}{question}{options}")
}

/// Waits until `condition` says yes; a minute is more than anything here takes.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) const PASSWORD: &str = "dw0r-geheim";

/// A server that a test may kill.
pub(crate) struct OwnServer {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    user: Option<(u32, u32)>,
    child: Option<Child>,
    settings: Vec<&'static str>,
}

impl OwnServer {
    pub(crate) async fn start(settings: &[&'static str]) -> Option<Self> {
        let Some(programs) = programs() else { return missing("there are no PostgreSQL programs to start") };
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL does not run as root; its package brings a user for it.
        let root = id(&["-u"]) == Some(0);
        let user = if root { Some((id(&["-u", "postgres"])?, id(&["-g", "postgres"])?)) } else { None };
        let (data, password) = (folder.path().join("data"), folder.path().join("password"));
        std::fs::create_dir(&data).unwrap();
        std::fs::write(&password, PASSWORD).unwrap();
        if let Some((user, group)) = user {
            for path in [folder.path(), &data, &password] {
                std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let port = servers::free_port();
        let mut server = Self { programs, folder, port, user, child: None, settings: settings.to_vec() };
        let mut initdb = server.command("initdb");
        initdb.args(["-U", "dvor", "-E", "UTF8", "--no-locale", "--no-sync", "--auth=scram-sha-256"]);
        initdb.arg("--pwfile").arg(password).arg("-D").arg(data);
        assert!(initdb.status().unwrap().success(), "initdb failed");
        server.restart().await;
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        self.url_with(PASSWORD)
    }

    pub(crate) fn url_with(&self, password: &str) -> String {
        format!("postgres://dvor:{password}@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Puts a certificate into the server's folder and turns encryption on from the next start.
    pub(crate) fn encrypt(&mut self, certificate: fn(&std::path::Path) -> bool) -> bool {
        if !certificate(&self.folder()) {
            return missing::<()>("there is no openssl to make a certificate").is_some();
        }
        if let Some((user, group)) = self.user {
            for name in ["server.key", "server.crt"] {
                std::os::unix::fs::chown(self.folder().join(name), Some(user), Some(group)).unwrap();
            }
        }
        self.settings.push("ssl=on");
        self.kill();
        true
    }

    /// Ends the server as a power cut would: all its processes at once, in the middle of whatever they do.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let kill = format!("kill -9 {} {}", children(child.id()).join(" "), child.id());
            let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it and waits until it answers. The children of a killed one may still be on their way out, and then a new
    /// one ends at once.
    pub(crate) async fn restart(&mut self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            assert!(Instant::now() < deadline, "PostgreSQL does not start");
            if self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some()) {
                let (port, folder) = (self.port.to_string(), self.folder());
                let mut postgres = self.command("postgres");
                postgres.arg("-D").arg(folder).args(["-p", &port, "-h", "127.0.0.1", "-k", ""]);
                for setting in &self.settings {
                    postgres.args(["-c", setting]);
                }
                self.child = Some(postgres.spawn().unwrap());
            }
            if tokio_postgres::connect(&self.url(), NoTls).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The newest installed server programs.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| path.join("initdb").exists())
        .collect();
    versions.sort_by_key(|path| {
        path.parent().and_then(|path| path.file_name()?.to_str()?.parse::<f32>().ok()).unwrap_or(0.0) as u32
    });
    versions.pop()
}

/// The processes that a process has started: in `/proc/<pid>/stat` the parent is the second field behind the name.
fn children(parent: u32) -> Vec<String> {
    let is_child = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().nth(1) == Some(&*parent.to_string())
    };
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(is_child).collect()
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
