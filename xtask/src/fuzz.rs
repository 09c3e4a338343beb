//! `cargo xtask fuzz`: the targets of `fuzz/`, each for a while, beginning with files of our own.
//!
//! Fuzzing needs the nightly compiler and cargo-fuzz, which is installed when it is missing. What a target finds is left
//! in `fuzz/artifacts/<target>/` and fails the run; what it learned stays in `fuzz/corpus/<target>/`, so the next run
//! begins there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::steps::Steps;

const FOLDER: &str = "fuzz";
/// There is no unsafe code of ours to watch, and without one twice as many inputs are tried.
const NO_SANITIZER: [&str; 2] = ["--sanitizer", "none"];
/// One run of a target may not take more.
const MEMORY_MB: u32 = 2_048;
/// The first input also waits for the catalog and the places to be read.
const TIMEOUT_SECONDS: u32 = 60;
const MOST_INPUT_BYTES: u32 = 16 << 10;
/// Files of the repository that a target begins with, besides `fuzz/seeds/<target>/`.
const SEEDS: [(&str, &str); 3] = [
    ("feeds_records", "crates/flow/feeds/tests/feeds/fixtures"),
    ("feeds_records", "crates/flow/feeds/schema"),
    ("snippets_config", "snippets"),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which one; all, one after another, if left out
    target: Option<String>,
    /// How long each runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = process::root();
    let targets = choose(targets(&root)?, args.target.as_deref())?;
    let steps = Steps::default();
    let result = run_all(&steps, &root, &targets, args.seconds);
    steps.print_table();
    result
}

fn run_all(steps: &Steps, root: &Path, targets: &[String], seconds: u32) -> Result<()> {
    steps.run("cargo-fuzz", || need_cargo_fuzz(root))?;
    // The versions that are shipped, not the newest of the day.
    std::fs::copy(root.join("Cargo.lock"), root.join(FOLDER).join("Cargo.lock")).context("Cargo.lock")?;
    for target in targets {
        let mut build = nightly(root);
        build.args(["fuzz", "build"]).args(NO_SANITIZER).arg(target);
        steps.run(&format!("build {target}"), || process::run(&mut build))?;
    }
    for target in targets {
        let corpus = root.join(FOLDER).join("corpus").join(target);
        std::fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
        let mut command = nightly(root);
        command
            .args(["fuzz", "run"])
            .args(NO_SANITIZER)
            .arg(target)
            .arg(corpus)
            .args(seeds(root, target))
            .arg("--");
        command.args(limits(root, target, seconds));
        steps.run(target, || process::run(&mut command))?;
    }
    Ok(())
}

fn limits(root: &Path, target: &str, seconds: u32) -> Vec<String> {
    let mut limits = vec![
        format!("-max_total_time={seconds}"),
        format!("-rss_limit_mb={MEMORY_MB}"),
        format!("-timeout={TIMEOUT_SECONDS}"),
        format!("-max_len={MOST_INPUT_BYTES}"),
        "-print_final_stats=1".to_owned(),
    ];
    let system = target.split('_').next().unwrap_or(target);
    let words = root.join(FOLDER).join("words").join(format!("{system}.dict"));
    if words.exists() {
        limits.push(format!("-dict={}", words.display()));
    }
    limits
}

fn seeds(root: &Path, target: &str) -> Vec<PathBuf> {
    let own = root.join(FOLDER).join("seeds").join(target);
    let others = SEEDS.iter().filter(|(of, _)| *of == target).map(|(_, folder)| root.join(folder));
    std::iter::once(own).chain(others).filter(|folder| folder.exists()).collect()
}

fn need_cargo_fuzz(root: &Path) -> Result<()> {
    if process::output_of(nightly(root).args(["fuzz", "--version"])).is_ok() {
        return Ok(());
    }
    process::output_of(nightly(root).arg("--version")).context(
        "fuzzing needs the nightly compiler by rustup: `rustup toolchain install nightly --profile minimal`",
    )?;
    process::run(nightly(root).args(["install", "--locked", "cargo-fuzz"]))
}

/// Cargo by rustup's proxy, since the one that runs us is of the pinned toolchain.
fn nightly(root: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root).env("RUSTUP_TOOLCHAIN", "nightly");
    let is_ours = |name: &OsString| name.to_string_lossy().starts_with("CARGO_PKG_");
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_ours) {
        command.env_remove(name);
    }
    for name in ["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "RUSTC", "RUSTDOC"] {
        command.env_remove(name);
    }
    command
}

fn choose(targets: Vec<String>, name: Option<&str>) -> Result<Vec<String>> {
    let Some(name) = name else { return Ok(targets) };
    if !targets.iter().any(|target| target == name) {
        bail!("there is no target {name}; there is: {}", targets.join(", "));
    }
    Ok(vec![name.to_owned()])
}

/// By the names of their files.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER).join("fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        names.push(entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests run in the folder of xtask.
    fn root() -> PathBuf {
        PathBuf::from("..")
    }

    #[test]
    fn every_target_is_declared_and_has_something_to_begin_with() {
        let manifest = std::fs::read_to_string(root().join(FOLDER).join("Cargo.toml")).unwrap();
        let all = targets(&root()).unwrap();
        assert!(all.len() >= 6, "{all:?}");
        for target in &all {
            assert!(manifest.contains(&format!("fuzz_targets/{target}.rs")), "{target}");
            let files = seeds(&root(), target).iter().flat_map(|folder| folder.read_dir().unwrap()).count();
            assert!(files > 0, "{target}");
        }
        for (target, folder) in SEEDS {
            assert!(all.contains(&target.to_owned()) && root().join(folder).is_dir(), "{target} {folder}");
        }
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let known = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(choose(known.clone(), Some("b")).unwrap(), ["b"]);
        assert!(choose(known, Some("c")).unwrap_err().to_string().ends_with("a, b"));
    }
}
