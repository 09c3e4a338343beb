//! Bad behaviour at the doors, and what another seller notices of it.

use std::time::Duration;

use anyhow::ensure;
use e2e::torture::doors::{self, Plan, Waits};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Connections that say nothing.
    #[arg(long, default_value_t = 2_000)]
    silent: usize,
    /// Uploads of a byte now and then.
    #[arg(long, default_value_t = 200)]
    slow: usize,
    /// Bodies of 4 MB.
    #[arg(long, default_value_t = 100)]
    large: usize,
    /// Of the quiet time and of the other.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// The other seller may wait this much longer.
    #[arg(long, default_value_t = 2.0)]
    factor: f64,
}

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { silent, slow, large, seconds, factor } = *arguments;
    let plan = Plan { silent, slow, large, period: Duration::from_secs(seconds) };
    let report = doors::run(&plan).await?;
    let line = |when: &str, Waits { calls, median, p99 }: &Waits, bytes: u64| {
        println!(
            "{when:<8} {calls:>6} calls  median {median:>9.2?}  p99 {p99:>9.2?}  peak {} MB",
            bytes >> 20
        );
    };
    line("quiet", &report.quiet, report.quiet_bytes);
    line("crowded", &report.crowded, report.crowded_bytes);
    let [before, during, after] = report.sockets;
    println!("sockets  {before} before, {during} at the height, {after} after");
    for ((what, status), count) in report.answers.counts() {
        println!("{what:<12} {status:>4} {count:>7} times");
    }
    let ratio = report.crowded.p99.as_secs_f64() / report.quiet.p99.as_secs_f64();
    println!("p99 is {ratio:.2} × that of the quiet time");
    ensure!(after <= before + 8, "connections stay open: {after}");
    ensure!(ratio <= factor, "the other seller waits {ratio:.2} × as long");
    Ok(())
}
