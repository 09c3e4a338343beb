//! `cargo xtask bench` and `cargo xtask torture`: the long programs of `crates/e2e`, built for release. They write
//! their own results under `bench/results/`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::servers::Servers;
use crate::steps::Steps;

const PROGRAMS: &str = "crates/e2e/src/bin";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which one; all if left out
    name: Option<String>,
    /// Start no PostgreSQL, Kafka and S3; what is in DVOR_TEST_… is passed on as it is
    #[arg(long)]
    no_services: bool,
    /// Passed on to the program
    #[arg(last = true)]
    program_args: Vec<String>,
}

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Bench,
    Torture,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Kind::Bench => "bench-",
            Kind::Torture => "torture-",
        }
    }
}

pub(crate) fn run(kind: Kind, args: &Args) -> Result<()> {
    let programs = choose(programs(kind)?, kind, args.name.as_deref())?;
    let steps = Steps::default();
    let result = run_all(&steps, &programs, args);
    steps.print_table();
    result
}

fn run_all(steps: &Steps, programs: &[String], args: &Args) -> Result<()> {
    steps.run("build", || {
        // Only what is asked for: to link a program takes minutes.
        let mut build = process::cargo();
        build.args(["build", "--release", "-p", "dvor", "-p", "dvor-e2e", "--bin", "dvor"]);
        process::run(build.args(programs.iter().flat_map(|program| ["--bin", program])))
    })?;
    let servers = if args.no_services { None } else { Some(steps.run("servers", Servers::start)?) };
    for missing in servers.iter().flat_map(Servers::missing) {
        println!("!!!! no {}: {}", missing.name, missing.reason);
    }
    for program in programs {
        // Not by `cargo run`: alone, the program has other features, and would be built once more.
        let mut command = Command::new(built()?.join(program));
        command.current_dir(process::root()).args(&args.program_args);
        if let Some(servers) = &servers {
            servers.tell(&mut command);
        }
        steps.run(program, || process::run(&mut command))?;
    }
    Ok(())
}

/// Where cargo puts what it builds for release: beside what it has built for us.
fn built() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).context("xtask is not in a folder of cargo's")?;
    Ok(folder.join("release"))
}

fn choose(programs: Vec<String>, kind: Kind, name: Option<&str>) -> Result<Vec<String>> {
    if programs.is_empty() {
        bail!("there is no {}… in {PROGRAMS} yet", kind.prefix());
    }
    let Some(name) = name else { return Ok(programs) };
    let wanted = format!("{}{name}", kind.prefix());
    if !programs.contains(&wanted) {
        bail!("there is no {wanted} in {PROGRAMS}; there is: {}", programs.join(", "));
    }
    Ok(vec![wanted])
}

/// The programs of one kind, by the names of their files or folders.
fn programs(kind: Kind) -> Result<Vec<String>> {
    let folder = process::root().join(PROGRAMS);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {PROGRAMS}"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(kind.prefix()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let known = vec!["bench-read".to_owned(), "bench-store".to_owned()];
        let chosen = |name| choose(known.clone(), Kind::Bench, name);
        assert_eq!(chosen(None).unwrap().len(), 2);
        assert_eq!(chosen(Some("store")).unwrap(), ["bench-store"]);
        assert!(chosen(Some("stor")).unwrap_err().to_string().contains("bench-read, bench-store"));
    }
}
