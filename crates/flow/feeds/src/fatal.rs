//! What ends the reading of a file.

use std::{fmt, io};

use model::{Issue, Language, message};

/// Why a file cannot be read any further, with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// One of `model::message`'s codes.
    pub code: &'static str,
    pub parameters: Vec<String>,
    /// From 1; 0: the file as a whole.
    pub line: u64,
    pub column: u64,
    /// Not the file's fault: trying again may help.
    pub transient: bool,
}

impl Fatal {
    pub(crate) fn new(code: &'static str, parameters: &[&str]) -> Self {
        let parameters = parameters.iter().map(|text| (*text).to_owned()).collect();
        Self { code, parameters, line: 0, column: 0, transient: false }
    }

    pub(crate) fn at(mut self, (line, column): (u64, u64)) -> Self {
        (self.line, self.column) = (line, column);
        self
    }

    /// The input itself failed, which says nothing about the file.
    pub(crate) fn input(error: &io::Error) -> Self {
        Self { transient: true, ..Self::new("feed_unreadable", &[&error.to_string()]) }
    }

    /// The stored file is not there any more.
    pub(crate) fn file_gone() -> Self {
        Self::new("feed_gone", &[])
    }

    /// The load was made by a catalog that this process does not have; another may.
    pub(crate) fn no_catalog(version: u32) -> Self {
        Self { transient: true, ..Self::new("catalog_unavailable", &[&version.to_string()]) }
    }

    /// The program made a mistake with this file.
    pub(crate) fn bug(what: &str) -> Self {
        Self::new("feed_internal", &[what])
    }

    /// An error that came through a chain of readers: ours, or one of the unpacking between them.
    pub(crate) fn from_io(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            Some(fatal) => fatal.clone(),
            None => Self::new("archive_broken", &[&error.to_string()]),
        }
    }

    pub(crate) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }

    pub fn message(&self, language: Language) -> String {
        let issue = Issue { code: self.code.into(), parameters: self.parameters.clone(), ..Issue::default() };
        message::render(&issue, language)
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message(Language::English);
        match self.line {
            0 => f.write_str(&message),
            line => write!(f, "line {line}, column {}: {message}", self.column),
        }
    }
}

impl std::error::Error for Fatal {}
