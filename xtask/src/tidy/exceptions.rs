//! `xtask/tidy-exceptions.toml`: what is known to be too large. The list may only shrink.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::sizes::Oversize;
use super::{Problem, Source};

const PATH: &str = "xtask/tidy-exceptions.toml";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    #[serde(default)]
    file: Vec<Entry>,
    #[serde(default)]
    function: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    /// Of the function; absent for a file.
    name: Option<String>,
    lines: usize,
}

pub(super) struct Exceptions {
    entries: Vec<Entry>,
    text: String,
}

pub(super) fn read(sources: &[Source]) -> Result<Exceptions> {
    let text = sources.iter().find(|source| source.path == PATH).map_or("", |source| &source.text);
    parse(text)
}

fn parse(text: &str) -> Result<Exceptions> {
    let entries: Entries = toml::from_str(text).context(PATH)?;
    let named = entries.file.iter().all(|entry| entry.name.is_none())
        && entries.function.iter().all(|entry| entry.name.is_some());
    anyhow::ensure!(named, "{PATH}: a [[function]] has a name, a [[file]] has none");
    Ok(Exceptions {
        entries: entries.file.into_iter().chain(entries.function).collect(),
        text: text.to_owned(),
    })
}

impl Exceptions {
    /// Every oversize thing needs an entry of exactly its size, and every entry an oversize thing.
    pub(super) fn judge(&self, found: &[Oversize]) -> Vec<Problem> {
        let unused = self
            .entries
            .iter()
            .filter(|entry| !found.iter().any(|over| entry.names(over)))
            .map(|entry| self.problem(entry, "within the limits now, or gone: remove the entry"));
        let mut problems: Vec<Problem> = unused.collect();
        problems.extend(found.iter().filter_map(|over| self.judge_one(over, found)));
        problems
    }

    fn judge_one(&self, over: &Oversize, found: &[Oversize]) -> Option<Problem> {
        let here = |message| Some(Problem { path: over.path.clone(), line: over.line, message });
        let what = over.function.as_ref().map_or("the file".to_owned(), |name| format!("fn {name}"));
        let Some(entry) = self.entries.iter().find(|entry| entry.names(over)) else {
            return here(format!("{what} has {} lines, the limit is {}", over.lines, over.limit));
        };
        // Methods of several types may share a name; the entry speaks of the largest.
        let largest = found.iter().filter(|other| entry.names(other)).map(|other| other.lines).max()?;
        if over.lines > entry.lines {
            return here(format!(
                "{what} has grown from {} lines to {}; make it smaller",
                entry.lines, over.lines
            ));
        }
        (largest < entry.lines && over.lines == largest)
            .then(|| self.problem(entry, &format!("{what} has {largest} lines now: shrink the entry")))
    }

    fn problem(&self, entry: &Entry, message: &str) -> Problem {
        let line = self.text.lines().position(|line| line.contains(&format!("\"{}\"", entry.path)));
        let name = entry.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
        let message = format!("{}{name}: {message}", entry.path);
        Problem { path: PATH.to_owned(), line: line.map_or(1, |line| line + 1), message }
    }
}

impl Entry {
    fn names(&self, over: &Oversize) -> bool {
        self.path == over.path && self.name == over.function
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(lines: usize) -> Oversize {
        Oversize { path: "a.rs".into(), function: Some("f".into()), line: 7, lines, limit: 60 }
    }

    #[track_caller]
    fn check(found: &[Oversize], expected: &[&str]) {
        let listed = "[[function]]\npath = \"a.rs\"\nname = \"f\"\nlines = 70\n";
        let problems = parse(listed).unwrap().judge(found);
        let text: Vec<_> = problems.iter().map(|p| format!("{}:{}: {}", p.path, p.line, p.message)).collect();
        assert_eq!(text.len(), expected.len(), "{text:?}");
        for (text, expected) in text.iter().zip(expected) {
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn the_list_only_shrinks() {
        check(&[over(70)], &[]);
        check(&[over(71)], &["a.rs:7: fn f has grown from 70 lines to 71"]);
        check(
            &[over(69)],
            &["xtask/tidy-exceptions.toml:2: a.rs (f): fn f has 69 lines now: shrink the entry"],
        );
        check(&[], &["xtask/tidy-exceptions.toml:2: a.rs (f): within the limits now, or gone"]);
    }

    #[test]
    fn what_is_not_listed_is_a_problem() {
        let found = [over(61)];
        assert_eq!(parse("").unwrap().judge(&found)[0].message, "fn f has 61 lines, the limit is 60");
    }

    #[test]
    fn one_name_twice_is_judged_by_the_largest() {
        check(&[over(65), over(70)], &[]);
        check(&[over(65), over(68)], &["has 68 lines now"]);
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        assert!(parse("[[file]]\npath = \"a\"\nline = 3\n").is_err());
        assert!(parse("[[function]]\npath = \"a\"\nlines = 3\n").is_err());
    }
}
