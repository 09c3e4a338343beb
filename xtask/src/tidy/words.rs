//! What must not stand in a file: unfinished code, paths of somebody's machine, addresses of package registries.

use super::mask::mask;
use super::{Problem, Source};

/// Folders that exist on one person's machine. System folders (`/usr/lib/…`, `/etc/…`, `/proc/…`, `/tmp`) are
/// the same everywhere and may be named.
const MACHINE_FOLDERS: [&str; 5] = ["home", "root", "Users", "work", "mnt"];

/// Where packages come from is the machine's configuration, so that a mirror works. In parts, because this
/// file is checked too.
const REGISTRIES: &[&[&str]] = &[
    &["index", "crates", "io"],
    &["static", "crates", "io"],
    &["pypi", "org"],
    &["files", "pythonhosted", "org"],
    &["registry", "npmjs", "org"],
    &["registry", "yarnpkg", "com"],
    &["repo", "maven", "apache", "org"],
    &["repo1", "maven", "org"],
    &["proxy", "golang", "org"],
    &["sum", "golang", "org"],
    &["deb", "debian", "org"],
    &["security", "debian", "org"],
    &["ftp", "debian", "org"],
    &["archive", "ubuntu", "com"],
];

/// Code that says of itself that it is not done.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "#[ignore"];
const NOTE: &str = concat!("FIX", "ME");

pub(super) fn check(source: &Source) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let mut report = |message: String| problems.push(source.problem(number + 1, message));
        if let Some(path) = machine_path(line) {
            report(format!("`{path}` is a path of one machine"));
        }
        if let Some(host) = registry(line) {
            report(format!(
                "`{host}` is a package registry; leave the choice to the machine's configuration"
            ));
        }
        if line.contains(NOTE) {
            report(format!("{NOTE}: fix it, or say in words what is missing and why"));
        }
    }
    if source.is_rust() {
        problems.extend(unfinished(source));
    }
    problems
}

fn unfinished(source: &Source) -> Vec<Problem> {
    let code = mask(&source.text);
    let found = code.lines().enumerate().flat_map(|(number, line)| {
        let words = UNFINISHED.iter().filter(move |word| has_word(line, word));
        words.map(move |word| source.problem(number + 1, format!("`{word}` does not go into the repository")))
    });
    found.collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn registry(line: &str) -> Option<String> {
    let line = line.to_ascii_lowercase();
    let inside_a_word = |c: char| c.is_alphanumeric() || c == '-';
    REGISTRIES
        .iter()
        .map(|parts| parts.join("."))
        .find(|host| line.match_indices(host.as_str()).any(|(at, _)| !line[..at].ends_with(inside_a_word)))
}

/// A path with something below the folder. Preceded by a letter or the like it is the end of a longer path or of
/// an address, and no path of the machine.
fn machine_path(line: &str) -> Option<String> {
    let continues = |c: char| c.is_alphanumeric() || "._-~/}]>*".contains(c);
    MACHINE_FOLDERS.iter().map(|name| format!("/{name}/")).find(|folder| {
        line.match_indices(folder.as_str()).any(|(at, _)| {
            let below = line[at + folder.len()..].chars().next();
            !line[..at].ends_with(continues) && below.is_some_and(|c| c.is_alphanumeric() || c == '.')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[track_caller]
    fn check_line(path: &str, line: &str, expected: &str) {
        let problems = check(&source(path, &format!("first\n{line}\n")));
        let found: Vec<_> = problems.iter().map(|found| (found.line, found.message.as_str())).collect();
        if expected.is_empty() {
            assert_eq!(found, [], "{line}");
        } else {
            assert!(
                found.len() == 1 && found[0].0 == 2 && found[0].1.contains(expected),
                "{line}: {found:?}"
            );
        }
    }

    #[test]
    fn paths_of_a_machine() {
        for folder in MACHINE_FOLDERS {
            let path = format!("/{folder}/ann/x");
            check_line("a.md", &format!("see {path}"), "path of one machine");
            check_line("a.toml", &format!("dir = \"{path}\""), "path of one machine");
            check_line("a.md", &format!("https://example.com{path}"), "");
            check_line("a.md", &format!("crates{path}"), "");
        }
        check_line("a.rs", "let binaries = \"/usr/lib/postgresql\";", "");
        check_line("a.rs", "let route = \"/work/{id}\";", "");
    }

    #[test]
    fn registries() {
        for parts in REGISTRIES {
            let host = parts.join(".");
            check_line("Dockerfile", &format!("RUN fetch https://{host}/x"), "package registry");
            check_line("a.md", &format!("my{host}"), "");
        }
        check_line("a.md", "crates such as those of crates.io", "");
    }

    #[test]
    fn unfinished_code() {
        check_line("a.rs", "fn a() { todo!() }", "todo!");
        check_line("a.rs", "fn a() { unimplemented!() }", "unimplemented!");
        check_line("a.rs", "#[ignore = \"slow\"]", "#[ignore");
        check_line("a.rs", "// todo! is for others", "");
        check_line("a.rs", "fn a() { my_todo!() }", "");
        check_line("a.md", "todo!", "");
        check_line("a.md", &format!("{NOTE} later"), NOTE);
    }
}
