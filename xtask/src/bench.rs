//! `cargo xtask bench` and `cargo xtask torture`: the two long programs of `crates/e2e`, built with the profile `dist`. They write
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
    /// The program, and the folder of its source.
    fn program(self) -> &'static str {
        match self {
            Kind::Bench => "bench",
            Kind::Torture => "torture",
        }
    }
}

pub(crate) fn run(kind: Kind, args: &Args) -> Result<()> {
    let names = choose(names(kind)?, kind, args.name.as_deref())?;
    let steps = Steps::default();
    let result = run_all(&steps, kind, &names, args);
    steps.print_table();
    result
}

fn run_all(steps: &Steps, kind: Kind, names: &[String], args: &Args) -> Result<()> {
    steps.run("build", || {
        let mut build = process::cargo();
        build.args(["build", "--profile", "dist", "-p", "dvor", "-p", "dvor-e2e", "--bin", "dvor"]);
        process::run(build.args(["--bin", kind.program()]))
    })?;
    let servers = if args.no_services { None } else { Some(steps.run("servers", Servers::start)?) };
    for missing in servers.iter().flat_map(Servers::missing) {
        println!("!!!! no {}: {}", missing.name, missing.reason);
    }
    for name in names {
        // Not by `cargo run`: alone, the program has other features, and would be built once more.
        let mut command = Command::new(built()?.join(kind.program()));
        command.current_dir(process::root()).arg(name).args(&args.program_args);
        if let Some(servers) = &servers {
            servers.tell(&mut command);
        }
        steps.run(&format!("{} {name}", kind.program()), || process::run(&mut command))?;
    }
    Ok(())
}

/// Where cargo puts what it builds with the profile `dist`: beside what it has built for us.
fn built() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).context("xtask is not in a folder of cargo's")?;
    Ok(folder.join("dist"))
}

fn choose(names: Vec<String>, kind: Kind, name: Option<&str>) -> Result<Vec<String>> {
    let Some(name) = name else { return Ok(names) };
    if !names.iter().any(|known| known == name) {
        bail!("there is no {} {name}; there is: {}", kind.program(), names.join(", "));
    }
    Ok(vec![name.to_owned()])
}

/// What the program can do, by the names of its files.
fn names(kind: Kind) -> Result<Vec<String>> {
    let folder = process::root().join(PROGRAMS).join(kind.program());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().replace('_', "-");
        // A folder holds parts of the file of its name.
        if name != "main" && path.is_file() {
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
        let known = vec!["read".to_owned(), "store".to_owned()];
        let chosen = |name| choose(known.clone(), Kind::Bench, name);
        assert_eq!(chosen(None).unwrap().len(), 2);
        assert_eq!(chosen(Some("store")).unwrap(), ["store"]);
        assert!(chosen(Some("stor")).unwrap_err().to_string().contains("read, store"));
    }
}
