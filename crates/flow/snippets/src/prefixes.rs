//! `key_prefixes.txt`: each snippet's number (its kps). A number is given once and never changes or comes back.

use std::fmt::Write as _;

use crate::error::ConfigError;

/// The file's name, beside the configuration.
pub const FILE: &str = "key_prefixes.txt";

/// The lines of the file: `NAME NUMBER`, and `NAME NUMBER retired` for a snippet that was dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: String,
    number: u32,
    retired: bool,
}

impl Prefixes {
    pub fn read(text: &str) -> Result<Self, ConfigError> {
        let mut lines: Vec<Line> = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let place = index + 1;
            let text = text.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let words: Vec<_> = text.split_whitespace().collect();
            let (name, number, retired) = match words[..] {
                [name, number] => (name, number, false),
                [name, number, "retired"] => (name, number, true),
                _ => return Err(bad(place, "a line is `NAME NUMBER` or `NAME NUMBER retired`")),
            };
            let number = number.parse().ok().filter(|number| *number > 0);
            let number: u32 = number.ok_or_else(|| bad(place, "a number is 1 to 4294967295"))?;
            if let Some(other) = lines.iter().find(|line| line.number == number) {
                return Err(bad(place, &format!("number {number} is that of {} already", other.name)));
            }
            if !retired && lines.iter().any(|line| line.name == name && !line.retired) {
                return Err(bad(place, &format!("{name} has a number already")));
            }
            lines.push(Line { name: name.to_owned(), number, retired });
        }
        Ok(Self { lines })
    }

    pub fn number(&self, name: &str) -> Option<u32> {
        self.active().find(|(known, _)| *known == name).map(|(_, number)| number)
    }

    /// The snippets in use, or at least not dropped.
    pub fn active(&self) -> impl Iterator<Item = (&str, u32)> {
        self.lines.iter().filter(|line| !line.retired).map(|line| (line.name.as_str(), line.number))
    }

    pub fn retired(&self) -> impl Iterator<Item = (&str, u32)> {
        self.lines.iter().filter(|line| line.retired).map(|line| (line.name.as_str(), line.number))
    }

    /// Gives numbers to the names that have none; says which.
    pub fn add_missing<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Vec<(String, u32)> {
        let mut added = Vec::new();
        for name in names {
            if self.number(name).is_none() {
                let number = self.next_number();
                self.lines.push(Line { name: name.to_owned(), number, retired: false });
                added.push((name.to_owned(), number));
            }
        }
        added
    }

    /// Behind the last one; where a person has given the very last number, the first that nobody ever had.
    fn next_number(&self) -> u32 {
        let last = self.lines.iter().map(|line| line.number).max().unwrap_or_default();
        let is_new = |number: &u32| self.lines.iter().all(|line| line.number != *number);
        last.checked_add(1).or_else(|| (1..=u32::MAX).find(is_new)).unwrap_or(u32::MAX)
    }

    /// Marks a dropped snippet; its number stays taken.
    pub fn retire(&mut self, name: &str) {
        for line in self.lines.iter_mut().filter(|line| line.name == name) {
            line.retired = true;
        }
    }

    pub fn write(&self) -> String {
        let mut text = String::from(
            "# Key prefixes of snippets. Lines are added by `dvor snippets prefixes`; a number never changes or comes back.\n",
        );
        for Line { name, number, retired } in &self.lines {
            let end = if *retired { " retired" } else { "" };
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{name} {number}{end}");
        }
        text
    }
}

fn bad(line: usize, message: &str) -> ConfigError {
    ConfigError::new(format!("{FILE}, line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_added_and_never_change_or_come_back() {
        let mut prefixes = Prefixes::read("a 1\n\nb 7 # of old\nc 9 retired\n").unwrap();
        assert_eq!(prefixes.add_missing(["a", "d", "c"].into_iter()), [("d".into(), 10), ("c".into(), 11)]);
        prefixes.retire("b");
        assert_eq!(
            (prefixes.number("a"), prefixes.number("b"), prefixes.number("c")),
            (Some(1), None, Some(11))
        );
        assert_eq!(Prefixes::read(&prefixes.write()).unwrap(), prefixes);
        assert_eq!(prefixes.add_missing(["b"].into_iter()), [("b".into(), 12)]);
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
        check("a", "key_prefixes.txt, line 1: a line is `NAME NUMBER` or `NAME NUMBER retired`");
        check("a x", "key_prefixes.txt, line 1: a number is 1 to 4294967295");
        check("a 0", "key_prefixes.txt, line 1: a number is 1 to 4294967295");
        check("a 1\nb 1", "key_prefixes.txt, line 2: number 1 is that of a already");
        check("a 1\na 2", "key_prefixes.txt, line 2: a has a number already");
    }
}
