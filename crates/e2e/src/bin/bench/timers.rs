//! Timers that come due by thousands a second while millions are pending, beside the same with ten thousand pending.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use e2e::bench::{self, Figure};
use e2e::load::offers::{easy_category, fill_small};
use e2e::load::seller_name;
use e2e::load::stages::{Act, STAGE, World, noting};
use kit::Timestamp;
use offers::stages::Lane;
use offers::write::by_api;
use serde::{Deserialize, Serialize};
use stages::stage::Outcome;
use store::Shard;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 10_000_000)]
    pending: u64,
    #[arg(long, default_value_t = 5_000)]
    due_per_second: u64,
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// What one of the two measurements runs
    #[arg(long, hide = true)]
    child: Option<PathBuf>,
}

const FEW: u64 = 10_000;
const EACH: u64 = 2_000;
const DUE: &str = "Due ";
const FAR: Duration = Duration::from_secs(30 * 24 * 3_600);

/// What one measurement found.
#[derive(Debug, Deserialize, Serialize)]
struct Measured {
    restart_ms: u64,
    late_p99_ms: u64,
    late_p50_ms: u64,
    memory_mb: u64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(folder) = &arguments.child {
        let found = measure(folder, arguments).await?;
        println!("{}", serde_json::to_string(&found)?);
        return Ok(());
    }
    let (few, many) = (child(arguments, FEW)?, child(arguments, arguments.pending)?);
    let longer = many.restart_ms.saturating_sub(few.restart_ms) as f64;
    let figures = [
        Figure::new("restart longer by", "ms", longer, "≤ 1000"),
        Figure::new("lateness p99", "ms", many.late_p99_ms as f64, "≤ 250").beside(few.late_p99_ms as f64),
        Figure::new("lateness p50", "ms", many.late_p50_ms as f64, "-").beside(few.late_p50_ms as f64),
        Figure::new("memory more by", "MB", many.memory_mb as f64 - few.memory_mb as f64, "≤ 64"),
    ];
    let title = format!(
        "{} timers a second come due while {} are pending; reference: {FEW} pending ({few:?}, {many:?})",
        arguments.due_per_second, arguments.pending
    );
    bench::print(&title, &figures);
    bench::save("timers", &figures)
}

/// A process of its own, so that its memory is its own.
fn child(arguments: &Arguments, pending: u64) -> anyhow::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let number = |name: &str, value: u64| [format!("--{name}"), value.to_string()];
    let output = Command::new(std::env::current_exe()?)
        .arg("timers")
        .args(number("pending", pending))
        .args(number("due-per-second", arguments.due_per_second))
        .args(number("seconds", arguments.seconds))
        .arg("--child")
        .arg(folder.path())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the measurement with {pending} pending failed");
    serde_json::from_slice(&output.stdout).context("what it found")
}

async fn measure(folder: &Path, arguments: &Arguments) -> anyhow::Result<Measured> {
    let url = format!("embedded:{}", folder.join("store").display());
    let category = easy_category(&catalog::Catalog::shipped());
    let schedule = Arc::new(Schedule::new(arguments.due_per_second));
    pend(&url, &category, &schedule, arguments.pending).await?;
    let began = Instant::now();
    let mut world = World::open(&url, schedule.act()).await?;
    let all: Vec<_> = Shard::all().collect();
    world.stages.look(&all, world.offers.clock.now()).await?;
    let restart_ms = began.elapsed().as_millis() as u64;
    world.start();
    let count = arguments.due_per_second * arguments.seconds;
    due(&world, &category, &schedule, count).await?;
    let mut late = std::mem::take(&mut *schedule.late());
    late.sort_unstable();
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize] / 1_000;
    let found =
        Measured { restart_ms, late_p99_ms: at(0.99), late_p50_ms: at(0.5), memory_mb: resident()? >> 20 };
    world.close().await?;
    Ok(found)
}

/// Fills the store with offers that each have a timer far ahead, by a walk of the scheduler.
async fn pend(url: &str, category: &str, schedule: &Arc<Schedule>, count: u64) -> anyhow::Result<()> {
    let mut world = World::open(url, schedule.act()).await?;
    for seller in 0..count / EACH {
        fill_small(&world.offers.store, &seller_name(seller), category, EACH).await?;
    }
    world.stages.traverse(STAGE, u32::MAX).await?;
    world.start();
    while world.waiting(Lane::Timers).await? < (count / EACH * EACH) as i64 {
        world.stages.maintain_once().await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    world.close().await
}

/// Writes offers whose first run sets a timer soon, and waits until all of these have run.
async fn due(world: &World, category: &str, schedule: &Schedule, count: u64) -> anyhow::Result<()> {
    let lead = Duration::from_secs(10 + count / 2_000);
    schedule.begin.store(world.offers.clock.now().plus(lead).0, Ordering::SeqCst);
    let store = &world.offers;
    let writers = (0..64_u64).map(|writer| async move {
        for number in (writer..count).step_by(64) {
            let mut content = e2e::load::offers::small(category, number);
            content.title = format!("{DUE}{number}");
            let seller = format!("due-{}", number % 1_000);
            store.create(&seller, content, &by_api("bench", "create")).await?;
        }
        Ok::<_, anyhow::Error>(())
    });
    futures::future::try_join_all(writers).await?;
    ensure!(
        world.offers.clock.now().0 < schedule.begin.load(Ordering::SeqCst),
        "the offers were written too slowly"
    );
    while (schedule.late().len() as u64) < count {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// When offers are due, and how late they ran.
struct Schedule {
    begin: AtomicI64,
    per_second: u64,
    late: Mutex<Vec<u64>>,
}

impl Schedule {
    fn new(per_second: u64) -> Self {
        Self { begin: AtomicI64::new(0), per_second, late: Mutex::default() }
    }

    fn late(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Microseconds between two timers times the offer's number.
    fn moment(&self, number: i64) -> Timestamp {
        Timestamp(self.begin.load(Ordering::SeqCst) + number * 1_000_000 / self.per_second as i64)
    }

    fn act(self: &Arc<Self>) -> Act {
        let schedule = self.clone();
        Arc::new(move |job| {
            let title = job.offer.content.as_ref().map_or("", |content| &content.title);
            let number = title.strip_prefix(DUE).and_then(|number| number.parse::<i64>().ok());
            match number {
                None => noting(job.now.plus(FAR)),
                Some(number) if job.state.is_none() => noting(schedule.moment(number)),
                Some(number) => {
                    let now = kit::Clock::system().now();
                    schedule.late().push(now.since(schedule.moment(number)).as_micros() as u64);
                    Outcome::default()
                }
            }
        })
    }
}

fn resident() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? << 10)
}
