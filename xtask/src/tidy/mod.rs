//! `cargo xtask tidy`: the house rules that the compiler does not know.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

mod exceptions;
mod layers;
mod manifest;
mod mask;
mod metrics;
mod plain;
mod sizes;
mod words;

/// One broken rule, printed as `path:line: message`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    line: usize,
    message: String,
}

/// A text file of the repository; the path is relative to the root, with `/`.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    fn problem(&self, line: usize, message: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line, message: message.into() }
    }
}

pub(crate) fn run() -> Result<()> {
    let sources = read_sources(&process::root())?;
    let mut problems = Vec::new();
    let manifests = manifest::read_all(&sources)?;
    problems.extend(layers::check_manifests(&manifests));
    problems.extend(sources.iter().flat_map(layers::check_source));
    problems.extend(manifests.iter().filter_map(manifest::check_lints));
    problems.extend(sources.iter().flat_map(words::check));
    problems.extend(sources.iter().flat_map(plain::check));
    problems.extend(metrics::check(&sources));
    let exceptions = exceptions::read(&sources)?;
    problems.extend(exceptions.judge(&sources.iter().flat_map(sizes::oversize).collect::<Vec<_>>()));
    problems.sort();
    for Problem { path, line, message } in &problems {
        println!("{path}:{line}: {message}");
    }
    if !problems.is_empty() {
        bail!(
            "tidy found {}",
            if problems.len() == 1 { "1 problem".into() } else { format!("{} problems", problems.len()) }
        );
    }
    println!("tidy: {} files are in order", sources.len());
    Ok(())
}

/// Every text file that git tracks or would track.
fn read_sources(root: &Path) -> Result<Vec<Source>> {
    let mut git = Command::new("git");
    // A clone that another user made is read all the same.
    git.current_dir(root).args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"]);
    let listed = process::output_of(git.arg("--exclude-standard")).context("tidy asks git for the files")?;
    let mut sources = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // A tracked file may be deleted and not yet committed, a link may lead nowhere.
        let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            sources.push(Source { path: path.to_owned(), text });
        }
    }
    Ok(sources)
}

#[cfg(test)]
fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
