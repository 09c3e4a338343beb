//! Plain words: what comments, messages and names do not say, in the folders that were read for it.

use super::mask::mask;
use super::{Problem, Source};

/// The list only grows.
const READ: [&str; 9] = [
    "crates/base/",
    "crates/e2e/",
    "crates/engines/fetch/",
    "crates/engines/files/",
    "crates/engines/topics/",
    "crates/flow/snippets/",
    "crates/knowledge/geo/",
    "crates/testing/",
    "proto/",
];

/// A word, and what to say instead.
const WORDS: [(&str, &str); 8] = [
    ("he", "they"),
    ("his", "their"),
    ("so many", "the number, or the name of the parameter"),
    ("so much", "the amount, or the name of the parameter"),
    ("of before", "earlier"),
    ("desert", "deleted rows"),
    ("grave", "tombstone"),
    ("graves", "tombstones"),
];

/// Names that say nothing of what a thing is.
const TYPES: [&str; 6] = ["Found", "Known", "Seen", "Taken", "Meant", "Noted"];
const DECLARATIONS: [&str; 3] = ["struct ", "enum ", "type "];

pub(super) fn check(source: &Source) -> Vec<Problem> {
    if !READ.iter().any(|folder| source.path.starts_with(folder)) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let folded = line.to_lowercase();
        for (word, instead) in WORDS.iter().filter(|(word, _)| has_words(&folded, word)) {
            problems.push(source.problem(number + 1, format!("`{word}`: say {instead}")));
        }
    }
    if source.is_rust() {
        for (number, line) in mask(&source.text).lines().enumerate() {
            if let Some(name) = TYPES.iter().find(|name| declares(line, name)) {
                problems.push(source.problem(number + 1, format!("`{name}` does not say what it is")));
            }
            if line.contains("const MOST_") {
                problems.push(source.problem(number + 1, "limits are called `MAX_…`"));
            }
        }
    }
    problems
}

fn has_words(line: &str, words: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’');
    line.match_indices(words)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + words.len()..].starts_with(is_part))
}

fn declares(line: &str, name: &str) -> bool {
    DECLARATIONS.iter().any(|declaration| {
        line.match_indices(declaration).any(|(at, _)| {
            let rest = line[at + declaration.len()..].strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[test]
    fn words_and_names_are_found_in_the_folders_that_were_read() {
        for (line, expected) in [
            ("// He keeps it.", "`he`: say they"),
            ("// Waits for so many rows.", "`so many`"),
            ("// the head of his list", "`his`"),
            ("// she, the, this, he's", ""),
            ("pub struct Found<'a> {", "`Found` does not"),
            ("struct FoundOffer;", ""),
            ("// struct Found is a bad name", ""),
            ("const MOST_ROWS: usize = 5;", "limits are"),
            ("let x = MAX_ROWS;", ""),
        ] {
            let problems = check(&source("crates/base/kit/src/a.rs", line));
            let said: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
            match expected {
                "" => assert_eq!(said, [""; 0], "{line}"),
                _ => assert!(said.len() == 1 && said[0].starts_with(expected), "{line}: {said:?}"),
            }
            assert_eq!(check(&source("crates/elsewhere/a.rs", line)), []);
        }
    }
}
