//! A feed's whole way, measured: a file is uploaded to the real program, and the time ends when the history has all of
//! its results.

mod reference;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::http::Client;
use crate::load::services::Services;
use crate::own_feed::{Edition, End, OwnFeed};
use crate::program::Program;

pub use reference::{Copied, copy};

#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 200_000)]
    pub offers: u64,
    /// Rows in PostgreSQL and topics in Kafka (DVOR_TEST_POSTGRES, DVOR_TEST_KAFKA) instead of embedded ones.
    #[arg(long)]
    pub services: bool,
}

/// Between two looks at a load.
const LOOK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(3_600);

/// One photo is waited for, for longer than a run takes.
const SETTINGS: [(&str, &str); 3] = [
    ("DVOR_PHOTOS__DOWNLOADS", "1"),
    ("DVOR_PHOTOS__IDLE_TIMEOUT_MS", "3600000"),
    ("DVOR_PHOTOS__TOTAL_TIMEOUT_MS", "3600000"),
];

/// Two editions of a feed in files.
pub struct Files {
    folder: tempfile::TempDir,
    pub bytes: u64,
    /// Where the photos should be: it takes the one connection at a time that is made, and never answers, so that looking
    /// for photos takes nothing of the measured time.
    _silent: TcpListener,
}

impl Files {
    pub fn write(offers: u64) -> anyhow::Result<Self> {
        let silent = TcpListener::bind("127.0.0.1:0")?;
        let photos = format!("http://{}", silent.local_addr()?);
        let mut files = Self { folder: tempfile::tempdir()?, bytes: 0, _silent: silent };
        for edition in [Edition::First, Edition::Second] {
            let mut file = BufWriter::new(File::create(files.path(edition))?);
            files.bytes = std::io::copy(&mut OwnFeed::of(End::Offers(offers), edition, &photos), &mut file)?;
            file.flush()?;
        }
        Ok(files)
    }

    pub fn path(&self, edition: Edition) -> PathBuf {
        self.folder.path().join(if edition == Edition::First { "first.xml" } else { "second.xml" })
    }
}

/// Snippets that read no topic.
const NO_CARDS: &str = "Body { Output: JSON InputSameAsOutput: true Section { Name: \"note\" } }";

/// Whether the process also makes the cards of every offer that changes, on the same cores and at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cards {
    Made,
    NotMade,
}

/// The program under measurement, and what it keeps its rows in.
pub struct Served {
    pub program: Program,
    services: Option<Services>,
    seller: String,
    _folder: tempfile::TempDir,
}

impl Served {
    pub async fn start(arguments: &Arguments, cards: Cards) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let services = if arguments.services { Some(Services::open().await?) } else { None };
        let own: Vec<&str> =
            services.iter().flat_map(|services| services.flags.iter().map(String::as_str)).collect();
        let mut flags = [&["--allow-private-addresses", "127.0.0.0/8"], own.as_slice()].concat();
        let config = folder.path().join("config.pb.txt");
        if cards == Cards::NotMade {
            std::fs::write(&config, NO_CARDS)?;
            std::fs::write(folder.path().join("key_prefixes.txt"), "note 1\n")?;
            flags.extend(["--snippets-config", config.to_str().context("a path in UTF-8")?]);
        }
        let program = Program::start_with(folder.path(), &flags, &SETTINGS)?;
        Ok(Self { program, services, seller: format!("shop-{}", kit::random_id()), _folder: folder })
    }

    /// On a folder that has data already.
    pub fn over(folder: tempfile::TempDir, seller: &str) -> anyhow::Result<Self> {
        let program = Program::start_with(folder.path(), &[], &SETTINGS)?;
        Ok(Self { program, services: None, seller: seller.to_owned(), _folder: folder })
    }

    /// Uploads and waits for all results.
    pub async fn load(&self, file: &Path) -> anyhow::Result<Loaded> {
        let mut client = Client::connect(self.program.http).await?;
        let path = format!("/v1/sellers/{}/feeds/default", self.seller);
        let before = self.program.cost()?;
        let began = Instant::now();
        let file = tokio::fs::File::open(file).await?;
        let answer = client.send_file(&format!("{path}/uploads"), file).await?.expect(202)?.json()?;
        let uploaded = began.elapsed();
        let task = answer["task_id"].as_str().context("a load's number")?.to_owned();
        let mut sent = None;
        loop {
            let load = client.get(&format!("{path}/tasks/{task}")).await?.expect(200)?.json()?;
            let status = load["status"].as_str().unwrap_or_default();
            if sent.is_none() && load["progress"]["bytes_read"] == load["progress"]["bytes_total"] {
                sent = Some(began.elapsed());
            }
            if !matches!(status, "queued" | "in_progress") {
                let elapsed = began.elapsed();
                ensure!(status == "succeeded", "the load ended as {status}: {load}");
                let after = self.program.cost()?;
                return Ok(Loaded {
                    elapsed,
                    uploaded,
                    sent: sent.unwrap_or(elapsed),
                    processor_seconds: after.seconds - before.seconds,
                    peak_bytes: after.peak_bytes,
                    statistics: load["statistics"].clone(),
                });
            }
            ensure!(began.elapsed() < PATIENCE, "the load does not end: {load}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the changes of the offers have been read by all who read them: the next measurement shall not pay
    /// for this one.
    pub async fn rest(&self) -> anyhow::Result<()> {
        let mut client = Client::connect(self.program.http).await?;
        let began = Instant::now();
        loop {
            let groups = client.get("/v1/topics/offers.changes/groups").await?.expect(200)?.json()?;
            let behind: i64 = groups["items"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|group| group["lag"].as_i64())
                .sum();
            if behind == 0 {
                println!("the changes were read by all {:.2} s later", began.elapsed().as_secs_f64());
                return Ok(());
            }
            ensure!(began.elapsed() < PATIENCE, "the changes are not read: {groups}");
            tokio::time::sleep(LOOK).await;
        }
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        self.program.kill()?;
        match self.services {
            Some(services) => services.close().await,
            None => Ok(()),
        }
    }
}

/// One load, from the first byte sent to the last result in the history.
pub struct Loaded {
    pub elapsed: Duration,
    /// The upload was answered.
    pub uploaded: Duration,
    /// The whole file was with the offers.
    pub sent: Duration,
    pub processor_seconds: f64,
    pub peak_bytes: u64,
    statistics: Value,
}

impl Loaded {
    pub fn count(&self, field: &str) -> u64 {
        self.statistics[field].as_u64().unwrap_or_default()
    }

    /// What the time was spent on, for people.
    pub fn tell(&self, name: &str) {
        println!(
            "{name}: {:.2} s (uploaded {:.2} s, file wholly sent {:.2} s), processor time {:.2} s, peak memory {} MB; {}",
            self.elapsed.as_secs_f64(),
            self.uploaded.as_secs_f64(),
            self.sent.as_secs_f64(),
            self.processor_seconds,
            self.peak_bytes >> 20,
            self.statistics
        );
    }

    pub fn per_second(&self, offers: u64) -> f64 {
        offers as f64 / self.elapsed.as_secs_f64()
    }
}

/// The first load and what it must have done.
pub async fn import(served: &Served, files: &Files, offers: u64) -> anyhow::Result<Loaded> {
    let loaded = served.load(&files.path(Edition::First)).await?;
    loaded.tell("import");
    ensure!(loaded.count("created") == offers, "{} offers were created", loaded.count("created"));
    Ok(loaded)
}

/// The second load, which must have changed a hundredth.
pub async fn reimport(served: &Served, files: &Files, offers: u64) -> anyhow::Result<Loaded> {
    let loaded = served.load(&files.path(Edition::Second)).await?;
    loaded.tell("reimport");
    let (updated, unchanged) = (loaded.count("updated"), loaded.count("unchanged"));
    ensure!(
        (updated, unchanged) == (offers / 100, offers - offers / 100),
        "{updated} updated, {unchanged} not"
    );
    Ok(loaded)
}

/// Where the figures were measured.
pub fn place(arguments: &Arguments) -> &'static str {
    if arguments.services { "PostgreSQL and Kafka" } else { "embedded" }
}
