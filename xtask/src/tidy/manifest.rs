//! The members' manifests, read without asking cargo.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::{Problem, Source};

pub(super) struct Manifest {
    pub(super) path: String,
    /// The folder relative to the root, `crates/engines/store`.
    pub(super) folder: String,
    pub(super) dependencies: Vec<Dependency>,
    inherits_lints: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The package's name.
    pub(super) package: String,
    /// Its folder, if it is one of ours.
    pub(super) folder: Option<String>,
    pub(super) line: usize,
}

/// All manifests but the workspace's own.
pub(super) fn read_all(sources: &[Source]) -> Result<Vec<Manifest>> {
    let root =
        sources.iter().find(|source| source.path == "Cargo.toml").context("no Cargo.toml in the root")?;
    let shared = shared_dependencies(root)?;
    // The fuzz targets are a workspace of their own.
    let is_member = |path: &str| path.ends_with("/Cargo.toml") && !path.starts_with("fuzz/");
    let members = sources.iter().filter(|source| is_member(&source.path));
    members.map(|source| read(source, &shared).with_context(|| source.path.clone())).collect()
}

/// `[workspace.dependencies]`: the name in a member's manifest → package and folder.
type Shared = BTreeMap<String, (String, Option<String>)>;

fn shared_dependencies(root: &Source) -> Result<Shared> {
    let table: Table = root.text.parse().context("Cargo.toml")?;
    let dependencies = table.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let dependencies = dependencies.and_then(Value::as_table).cloned().unwrap_or_default();
    Ok(dependencies.iter().map(|(name, value)| (name.clone(), package_and_folder(name, value, ""))).collect())
}

fn read(source: &Source, shared: &Shared) -> Result<Manifest> {
    let table: Table = source.text.parse()?;
    let folder = source.path.trim_end_matches("/Cargo.toml").to_owned();
    let mut dependencies = Vec::new();
    for (name, value) in all_dependencies(&table) {
        let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
        let (package, folder) = match shared.get(name).filter(|_| inherited) {
            Some(found) => found.clone(),
            None => package_and_folder(name, value, &folder),
        };
        dependencies.push(Dependency { package, folder, line: line_of(&source.text, name) });
    }
    let lints = table.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
    Ok(Manifest { path: source.path.clone(), folder, dependencies, inherits_lints: lints == Some(true) })
}

/// Normal, build and dev dependencies, also those of one platform.
fn all_dependencies(table: &Table) -> Vec<(&String, &Value)> {
    let platforms = table.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = platforms.filter_map(|(_, platform)| platform.as_table()).chain([table]);
    tables
        .flat_map(|table| {
            ["dependencies", "dev-dependencies", "build-dependencies"].map(|kind| table.get(kind))
        })
        .flatten()
        .filter_map(Value::as_table)
        .flatten()
        .collect()
}

fn package_and_folder(name: &str, value: &Value, base: &str) -> (String, Option<String>) {
    let text = |key| value.get(key).and_then(Value::as_str);
    let folder = text("path").map(|path| join(base, path));
    (text("package").unwrap_or(name).to_owned(), folder)
}

/// Joins a relative path in text, so that `..` needs no file to exist.
fn join(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn line_of(text: &str, name: &str) -> usize {
    let names = |line: &str| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            || line.trim_end().ends_with(&format!("dependencies.{name}]"))
    };
    text.lines().position(names).map_or(1, |line| line + 1)
}

pub(super) fn check_lints(manifest: &Manifest) -> Option<Problem> {
    (!manifest.inherits_lints).then(|| Problem {
        path: manifest.path.clone(),
        line: 1,
        message: "the crate does not inherit the workspace's lints: add `[lints] workspace = true`".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nstore = { package = \"dvor-store\", path = \"crates/engines/store\" }\n\
                        fjall = \"3\"\n";

    fn member(text: &str) -> Manifest {
        let sources = [source("Cargo.toml", ROOT), source("crates/flow/offers/Cargo.toml", text)];
        read_all(&sources).unwrap().remove(0)
    }

    #[test]
    fn dependencies_are_found_under_every_heading() {
        let manifest = member(
            "[dependencies]\nstore.workspace = true\nbase = { path = \"../../base/kit\" }\n\
             [dev-dependencies]\nfjall.workspace = true\n[target.'cfg(unix)'.dependencies.sql]\npackage = \"rdkafka\"\n",
        );
        let found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|dependency| (dependency.package.as_str(), dependency.folder.as_deref(), dependency.line))
            .collect();
        assert_eq!(
            found,
            [
                ("rdkafka", None, 6),
                ("base", Some("crates/base/kit"), 3),
                ("dvor-store", Some("crates/engines/store"), 2),
                ("fjall", None, 5),
            ]
        );
    }

    #[test]
    fn a_crate_without_the_workspaces_lints_is_a_problem() {
        assert!(check_lints(&member("[lints]\nworkspace = true\n")).is_none());
        assert!(check_lints(&member("[lints]\nworkspace = false\n")).is_some());
        assert!(check_lints(&member("[package]\n")).unwrap().message.contains("[lints]"));
    }
}
