//! Who may depend on whom.

use super::manifest::{Dependency, Manifest};
use super::mask::mask;
use super::{Problem, Source};

/// Calls go downward only: server → face → flow → web, knowledge, engines → base. A layer is a folder under `crates/`;
/// a crate may depend on any crate of the layers listed for its own.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &["base"]),
    ("engines", &["base"]),
    ("knowledge", &["base"]),
    ("web", &["base", "engines"]),
    ("testing", &["base", "engines"]),
    ("flow", &["base", "engines", "knowledge", "web", "testing"]),
    ("face", &["base", "engines", "knowledge", "web", "flow", "testing"]),
    ("server", &["base", "engines", "knowledge", "web", "flow", "face"]),
    ("e2e", &["base", "engines", "knowledge", "web", "flow", "face", "server", "testing", "e2e"]),
    ("xtask", &[]),
];

/// The arrows inside of a layer. Engines stand on each other in one order; of the flow, a stage's save is an
/// offer's save, gold's write-back is one transaction with the united offer, and all else meets in topics.
const ARROWS: &[(&str, &str)] = &[
    ("engines/store", "engines/servers"),
    ("engines/topics", "engines/servers"),
    ("engines/cluster", "engines/store"),
    ("engines/topics", "engines/store"),
    ("engines/topics", "engines/cluster"),
    ("engines/files", "engines/store"),
    ("engines/files", "engines/topics"),
    ("engines/spine", "engines/store"),
    ("engines/spine", "engines/topics"),
    ("engines/spine", "engines/files"),
    ("engines/spine", "engines/cluster"),
    ("flow/stages", "flow/offers"),
    ("flow/silver", "flow/united"),
];

/// Packages that only some layers may name: the clients of databases, Kafka and S3 are the engines' business, the
/// web frameworks that of whoever serves. e2e measures against all of them.
const PACKAGES: &[(&[&str], &[&str])] = &[
    (&["fjall", "tokio-postgres", "deadpool-postgres", "rdkafka", "object_store"], &["engines", "e2e"]),
    (
        &["axum", "axum-extra", "tonic", "tonic-prost", "tonic-health", "tonic-reflection"],
        &["web", "flow", "face", "server", "testing", "e2e"],
    ),
];

/// In the flow, only the files in here speak HTTP and gRPC.
const API_FOLDER: &str = "/src/api/";
const API_WORDS: [&str; 2] = ["axum::", "tonic::"];

pub(super) fn check_manifests(manifests: &[Manifest]) -> Vec<Problem> {
    manifests.iter().flat_map(check_manifest).collect()
}

fn check_manifest(manifest: &Manifest) -> Vec<Problem> {
    let problem = |line, message| Problem { path: manifest.path.clone(), line, message };
    let crate_name = short(&manifest.folder);
    let Some((layer, below)) = LAYERS.iter().find(|(layer, _)| *layer == layer_of(crate_name)) else {
        return vec![problem(1, format!("{crate_name} is in no known layer (xtask/src/tidy/layers.rs)"))];
    };
    let broken = manifest.dependencies.iter().filter_map(|dependency| {
        let message = match &dependency.folder {
            Some(folder) => refuse_ours(crate_name, below, short(folder)),
            None => refuse_package(layer, dependency),
        }?;
        Some(problem(dependency.line, message))
    });
    broken.collect()
}

fn refuse_ours(from: &str, below: &[&str], to: &str) -> Option<String> {
    let allowed = below.contains(&layer_of(to)) || ARROWS.contains(&(from, to));
    (!allowed).then(|| {
        let below = if below.is_empty() { "nothing of ours".into() } else { below.join(", ") };
        format!("{from} may not depend on {to}; it may on {below}")
    })
}

fn refuse_package(layer: &str, dependency: &Dependency) -> Option<String> {
    let package = dependency.package.as_str();
    let (_, layers) = PACKAGES.iter().find(|(packages, _)| packages.contains(&package))?;
    (!layers.contains(&layer)).then(|| format!("only {} may depend on {package}", layers.join(", ")))
}

/// Without `crates/`: `engines/store`, `server`, `xtask`.
fn short(folder: &str) -> &str {
    folder.strip_prefix("crates/").unwrap_or(folder)
}

fn layer_of(crate_name: &str) -> &str {
    crate_name.split('/').next().unwrap_or_default()
}

pub(super) fn check_source(source: &Source) -> Vec<Problem> {
    let in_flow = source.path.starts_with("crates/flow/") && source.path.contains("/src/");
    if !in_flow || !source.is_rust() || source.path.contains(API_FOLDER) {
        return Vec::new();
    }
    let code = mask(&source.text);
    let lines = code.lines().enumerate();
    lines
        .flat_map(|(line, text)| {
            API_WORDS.iter().filter(move |word| mentions(text, word)).map(move |word| (line, word))
        })
        .map(|(line, word)| source.problem(line + 1, format!("`{word}` outside of src/api/")))
        .collect()
}

/// `axum::` is not in `my_axum::`.
fn mentions(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::super::{manifest, source};
    use super::*;

    const ROOT: &str = "[workspace.dependencies]\nfjall = \"3\"\naxum = \"1\"\n\
        kit = { path = \"crates/base/kit\" }\nstore = { path = \"crates/engines/store\" }\n\
        cluster = { path = \"crates/engines/cluster\" }\ntopics = { path = \"crates/engines/topics\" }\n\
        files = { path = \"crates/engines/files\" }\ngeo = { path = \"crates/knowledge/geo\" }\n\
        offers = { path = \"crates/flow/offers\" }\nstages = { path = \"crates/flow/stages\" }\n\
        console = { path = \"crates/face/console\" }\ndvor = { path = \"crates/server\" }\n";

    fn problems(folder: &str, dependency: &str) -> Vec<String> {
        let text = format!("[dependencies]\n{dependency}.workspace = true\n");
        let sources = [source("Cargo.toml", ROOT), source(&format!("{folder}/Cargo.toml"), &text)];
        let problems = check_manifests(&manifest::read_all(&sources).unwrap());
        problems
            .into_iter()
            .map(|found| format!("{}:{}: {}", found.path, found.line, found.message))
            .collect()
    }

    #[test]
    fn calls_go_downward() {
        for (folder, dependency) in [
            ("crates/server", "console"),
            ("crates/face/console", "offers"),
            ("crates/flow/offers", "geo"),
            ("crates/flow/offers", "store"),
            ("crates/flow/stages", "offers"),
            ("crates/engines/store", "kit"),
            ("crates/engines/files", "topics"),
            ("crates/engines/topics", "cluster"),
            ("crates/e2e", "dvor"),
        ] {
            assert!(problems(folder, dependency).is_empty(), "{folder} → {dependency}");
        }
    }

    #[test]
    fn and_never_upward_or_sideways() {
        for (folder, dependency) in [
            ("crates/base/kit", "store"),
            ("crates/engines/store", "offers"),
            ("crates/engines/store", "topics"),
            ("crates/engines/cluster", "topics"),
            ("crates/engines/topics", "files"),
            ("crates/knowledge/catalog", "geo"),
            ("crates/flow/offers", "stages"),
            ("crates/flow/feeds", "offers"),
            ("crates/flow/offers", "console"),
            ("crates/face/console", "dvor"),
            ("crates/server", "e2e-is-unknown"),
            ("xtask", "kit"),
        ] {
            let found = problems(folder, dependency);
            assert_eq!(found.len(), usize::from(dependency != "e2e-is-unknown"), "{folder} → {dependency}");
        }
        let found = problems("crates/flow/offers", "stages");
        assert!(
            found[0]
                .starts_with("crates/flow/offers/Cargo.toml:2: flow/offers may not depend on flow/stages")
        );
    }

    #[test]
    fn clients_and_web_frameworks_have_their_layers() {
        assert!(problems("crates/engines/store", "fjall").is_empty());
        assert_eq!(problems("crates/flow/offers", "fjall").len(), 1);
        assert_eq!(problems("crates/server", "fjall").len(), 1);
        assert!(problems("crates/flow/offers", "axum").is_empty());
        assert_eq!(problems("crates/engines/store", "axum").len(), 1);
        assert_eq!(problems("crates/base/kit", "axum").len(), 1);
    }

    #[test]
    fn a_crate_outside_of_the_layers_is_a_problem() {
        assert!(problems("crates/misc/x", "kit")[0].contains("no known layer"));
    }

    #[test]
    fn only_api_folders_speak_http() {
        let lines = |path| {
            let text = "use axum::Router;\n// tonic::x\nlet a = \"axum::\";\nfn f() -> tonic::Status {}\n";
            check_source(&source(path, text)).iter().map(|problem| problem.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("crates/flow/offers/src/load.rs"), [1, 4]);
        assert!(lines("crates/flow/offers/src/api/http.rs").is_empty());
        assert!(lines("crates/server/src/main.rs").is_empty());
    }
}
