//! `cargo xtask test`: what CI runs, and what a person runs before pushing.

use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::servers::Servers;
use crate::steps::Steps;
use crate::{process, target_folder, tidy};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Passed on to the test programs: a filter, --nocapture
    #[arg(last = true)]
    filter: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    target_folder::bound_in_ci()?;
    let steps = Steps::default();
    let started = Instant::now();
    let result = all(&steps, args);
    steps.print_table();
    println!("all: {:.1} s", started.elapsed().as_secs_f64());
    result
}

fn all(steps: &Steps, args: &Args) -> Result<()> {
    // The servers belong to the main thread: the kernel ends them with the thread that started them.
    let (checks, servers) = thread::scope(|scope| {
        let checks = scope.spawn(|| check(steps));
        let servers = steps.run("servers (beside the checks)", Servers::start);
        let checks = checks.join().unwrap_or_else(|_| bail!("a check panicked"));
        (checks, servers)
    });
    checks?;
    let servers = servers?;
    announce_missing(&servers);
    steps.run("xmllint", || crate::servers::need_program("xmllint", "libxml2-utils"))?;
    steps.run("chromium", || crate::servers::need_program("chromium", "chromium"))?;
    steps.run("cargo test", || test(&servers, args))?;
    announce_missing(&servers);
    if target_folder::in_ci() && !servers.missing().is_empty() {
        bail!("CI is set, so tests without their server do not count: see NOT TESTED above");
    }
    Ok(())
}

/// What needs no server.
fn check(steps: &Steps) -> Result<()> {
    steps.run("cargo fmt", || {
        need_component("fmt", "rustfmt")?;
        process::run(process::cargo().args(["fmt", "--all", "--check"]))
    })?;
    steps.run("cargo clippy", || {
        need_component("clippy", "clippy")?;
        process::run(process::cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    })?;
    steps.run("tidy", tidy::run)
}

fn test(servers: &Servers, args: &Args) -> Result<()> {
    let mut command = process::cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--"]).args(&args.filter);
    servers.tell(&mut command);
    process::run(&mut command)
}

fn need_component(verb: &str, component: &str) -> Result<()> {
    let mut version: Command = process::cargo();
    process::output_of(version.args([verb, "--version"])).map(drop).with_context(|| {
        format!(
            "`cargo {verb}` is missing: `rustup component add {component}`, or Debian's package {}",
            if component == "clippy" { "rust-clippy" } else { component }
        )
    })
}

fn announce_missing(servers: &Servers) {
    for missing in servers.missing() {
        println!("\n!!!! NOT TESTED: whatever needs {} ({} is not set)", missing.name, missing.variable);
        println!("!!!! {}", missing.reason.trim_end().replace('\n', "\n!!!! "));
    }
}
