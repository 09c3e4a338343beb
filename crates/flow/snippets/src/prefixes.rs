//! `key_prefixes.txt`: each snippet's number (its kps). A number is given once and never changes or comes back.

use crate::error::ConfigError;

/// The file's name, beside the configuration.
pub const FILE: &str = "key_prefixes.txt";

const HEADING: &str = "# Key prefixes of snippets. Lines are added by `dvor snippets prefixes`; a number never changes or comes back.";

/// The lines of the file: `NAME NUMBER`, and `NAME NUMBER retired` for a snippet that was dropped. Comments and blank
/// lines are people's, and stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    /// As it is written, without blanks at the end.
    text: String,
    entry: Option<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    number: u32,
    retired: bool,
}

impl Prefixes {
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        let mut prefixes = Self::default();
        for (index, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let bad = |message: String| ConfigError::new(format!("line {}: {message}", index + 1));
            let entry = entry(text).map_err(|message| bad(message.to_owned()))?;
            if let Some(Entry { name, number, retired }) = &entry {
                if let Some(other) = prefixes.entries().find(|other| other.number == *number) {
                    return Err(bad(format!("number {number} is already taken by {}", other.name)));
                }
                if !retired && prefixes.number(name).is_some() {
                    return Err(bad(format!("{name} has a number already")));
                }
            }
            prefixes.lines.push(Line { text: text.trim_end().to_owned(), entry });
        }
        Ok(prefixes)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.iter().filter_map(|line| line.entry.as_ref())
    }

    pub fn number(&self, name: &str) -> Option<u32> {
        self.active().find(|(known, _)| *known == name).map(|(_, number)| number)
    }

    /// The snippets in use, or at least not dropped.
    pub fn active(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries().filter(|entry| !entry.retired).map(|entry| (entry.name.as_str(), entry.number))
    }

    pub fn retired(&self) -> impl Iterator<Item = (&str, u32)> {
        self.entries().filter(|entry| entry.retired).map(|entry| (entry.name.as_str(), entry.number))
    }

    /// Gives numbers to the names that have none; says which.
    pub fn add_missing<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Vec<(String, u32)> {
        let mut added = Vec::new();
        for name in names {
            if self.number(name).is_none() {
                let number = self.next_number();
                self.push(name, number);
                added.push((name.to_owned(), number));
            }
        }
        added
    }

    /// Behind the last one; where a person has given the very last number, the first that nobody ever had.
    fn next_number(&self) -> u32 {
        let last = self.entries().map(|entry| entry.number).max().unwrap_or_default();
        let is_new = |number: &u32| self.entries().all(|entry| entry.number != *number);
        last.checked_add(1).or_else(|| (1..=u32::MAX).find(is_new)).unwrap_or(u32::MAX)
    }

    fn push(&mut self, name: &str, number: u32) {
        if self.lines.is_empty() {
            self.lines.push(Line { text: HEADING.to_owned(), entry: None });
        }
        let entry = Entry { name: name.to_owned(), number, retired: false };
        self.lines.push(Line { text: format!("{name} {number}"), entry: Some(entry) });
    }

    /// Marks a dropped snippet, also one that the file has lost: its number stays taken.
    pub fn retire(&mut self, name: &str, number: u32) {
        if self.entries().all(|entry| entry.number != number) {
            self.push(name, number);
        }
        for line in &mut self.lines {
            if let Some(entry) = line.entry.as_mut().filter(|entry| entry.number == number && !entry.retired)
            {
                entry.retired = true;
                let (words, comment) = line.text.split_once('#').unwrap_or((&line.text, ""));
                let comment = if comment.is_empty() { String::new() } else { format!(" #{comment}") };
                line.text = format!("{} retired{comment}", words.trim_end());
            }
        }
    }

    pub fn write(&self) -> String {
        self.lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect()
    }
}

/// What a line says, if it is not blank or a comment.
fn entry(text: &str) -> Result<Option<Entry>, &'static str> {
    let words: Vec<_> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
    let (name, number, retired) = match words[..] {
        [] => return Ok(None),
        [name, number] => (name, number, false),
        [name, number, "retired"] => (name, number, true),
        _ => return Err("a line is `NAME NUMBER` or `NAME NUMBER retired`"),
    };
    let number = number.parse().ok().filter(|number| *number > 0);
    let number = number.ok_or("a number is 1 to 4294967295")?;
    Ok(Some(Entry { name: name.to_owned(), number, retired }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_added_and_never_change_or_come_back() {
        let mut prefixes = Prefixes::read("a 1\n\nb 7 # of old\nc 9 retired\n").unwrap();
        assert_eq!(prefixes.add_missing(["a", "d", "c"].into_iter()), [("d".into(), 10), ("c".into(), 11)]);
        prefixes.retire("b", 7);
        assert_eq!(
            (prefixes.number("a"), prefixes.number("b"), prefixes.number("c")),
            (Some(1), None, Some(11))
        );
        assert_eq!(Prefixes::read(&prefixes.write()).unwrap(), prefixes);
        assert_eq!(prefixes.add_missing(["b"].into_iter()), [("b".into(), 12)]);
    }

    #[test]
    fn what_people_wrote_beside_the_numbers_stays() {
        let mut prefixes =
            Prefixes::read("\u{feff}# ours\r\n\na 1 # the first\nb   2# the second\n# the end").unwrap();
        prefixes.add_missing(["a", "c"].into_iter());
        prefixes.retire("b", 2);
        prefixes.retire("lost", 9);
        assert_eq!(
            prefixes.write(),
            "# ours\n\na 1 # the first\nb   2 retired # the second\n# the end\nc 3\nlost 9 retired\n"
        );
        let mut new = Prefixes::default();
        new.add_missing(["a"].into_iter());
        assert_eq!(new.write(), format!("{HEADING}\na 1\n"));
    }

    #[test]
    fn behind_the_last_number_there_are_those_that_nobody_had() {
        let mut prefixes = Prefixes::read("a 1\nb 2 retired\nc 4294967295").unwrap();
        assert_eq!(prefixes.add_missing(["d", "e"].into_iter()), [("d".into(), 3), ("e".into(), 4)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Prefixes::read(text).unwrap_err().to_string(), expected);
        };
        check("a", "line 1: a line is `NAME NUMBER` or `NAME NUMBER retired`");
        check("a x", "line 1: a number is 1 to 4294967295");
        check("a 0", "line 1: a number is 1 to 4294967295");
        check("a 1\nb 1", "line 2: number 1 is already taken by a");
        check("a 1\na 2", "line 2: a has a number already");
    }
}
