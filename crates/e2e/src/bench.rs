//! Figures: measured for a while, printed as a table beside their reference, kept as JSON.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// One line of a bench's table.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub name: String,
    pub unit: &'static str,
    pub value: f64,
    /// What the reference reached in the same run, and the share of it that we reach.
    pub reference: Option<f64>,
    pub ratio: Option<f64>,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub wanted: &'static str,
}

impl Figure {
    pub fn new(name: impl Into<String>, unit: &'static str, value: f64, wanted: &'static str) -> Self {
        let name = name.into();
        Self { name, unit, value, reference: None, ratio: None, p50_us: None, p99_us: None, wanted }
    }

    #[must_use]
    pub fn beside(mut self, reference: f64) -> Self {
        self.reference = Some(reference);
        self.ratio = Some(self.value / reference);
        self
    }

    #[must_use]
    pub fn with_times(mut self, rate: &Rate) -> Self {
        self.p50_us = Some(rate.p50_us);
        self.p99_us = Some(rate.p99_us);
        self
    }
}

pub fn print(title: &str, figures: &[Figure]) {
    let names: Vec<_> = figures.iter().map(|figure| format!("{} ({})", figure.name, figure.unit)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    println!("\n{title}");
    println!(
        "{:<width$} {:>12} {:>12} {:>7} {:>9} {:>9}  wanted",
        "what", "ours", "reference", "ratio", "p50 µs", "p99 µs"
    );
    for (name, figure) in names.iter().zip(figures) {
        let number = |value: Option<f64>| value.map_or(String::from("-"), |value| format!("{value:.0}"));
        let micros = |value: Option<u64>| value.map_or(String::from("-"), |value| value.to_string());
        let ratio = figure.ratio.map_or(String::from("-"), |ratio| format!("{ratio:.2}"));
        println!(
            "{name:<width$} {:>12} {:>12} {:>7} {:>9} {:>9}  {}",
            number(Some(figure.value)),
            number(figure.reference),
            ratio,
            micros(figure.p50_us),
            micros(figure.p99_us),
            figure.wanted
        );
    }
}

/// Keeps the figures in `bench/results/<name>.json`.
pub fn save(name: &str, figures: &[Figure]) -> anyhow::Result<()> {
    std::fs::create_dir_all("bench/results")?;
    std::fs::write(format!("bench/results/{name}.json"), serde_json::to_string_pretty(figures)? + "\n")?;
    Ok(())
}

/// What a measurement found.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub per_second: f64,
    pub p50_us: u64,
    pub p99_us: u64,
}

/// Runs `work` in this number of tasks for a while; every call gets a number of its own.
pub async fn rate<F>(
    tasks: usize,
    time: Duration,
    work: impl Fn(u64) -> F + Send + Sync + Clone + 'static,
) -> anyhow::Result<Rate>
where
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let began = Instant::now();
    let runners: Vec<_> = (0..tasks)
        .map(|_| {
            let (next, over, work) = (next.clone(), over.clone(), work.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let call = Instant::now();
                    work(next.fetch_add(1, Ordering::Relaxed)).await?;
                    times.push(call.elapsed().as_micros() as u64);
                }
                Ok::<_, anyhow::Error>(times)
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let mut times = Vec::new();
    for runner in runners {
        times.extend(runner.await??);
    }
    Ok(Rate::of(times, began.elapsed()))
}

impl Rate {
    /// From the times of all calls, in microseconds, within a while.
    pub fn of(mut times: Vec<u64>, elapsed: Duration) -> Self {
        times.sort_unstable();
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
        Self { per_second: times.len() as f64 / elapsed.as_secs_f64(), p50_us: at(0.5), p99_us: at(0.99) }
    }

    /// Of measurements that took equally long.
    fn mean(rates: &[Self]) -> Self {
        let count = rates.len().max(1);
        Self {
            per_second: rates.iter().map(|rate| rate.per_second).sum::<f64>() / count as f64,
            p50_us: rates.iter().map(|rate| rate.p50_us).sum::<u64>() / count as u64,
            p99_us: rates.iter().map(|rate| rate.p99_us).sum::<u64>() / count as u64,
        }
    }
}

/// How often ours and the reference are usually measured.
pub const TURNS: usize = 4;

/// Measures ours and the reference by turns, so that what goes on in the background meets both. The shorter the turns, the
/// more it meets both alike.
pub async fn by_turns(
    turns: usize,
    ours: impl AsyncFn() -> anyhow::Result<Rate>,
    reference: impl AsyncFn() -> anyhow::Result<Rate>,
) -> anyhow::Result<(Rate, Rate)> {
    let mut rates = (Vec::new(), Vec::new());
    for turn in 0..turns {
        // Neither always comes first.
        let ours_first = turn % 2 == 0;
        if ours_first {
            rates.0.push(ours().await?);
        }
        rates.1.push(reference().await?);
        if !ours_first {
            rates.0.push(ours().await?);
        }
    }
    Ok((Rate::mean(&rates.0), Rate::mean(&rates.1)))
}
