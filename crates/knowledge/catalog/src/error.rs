use std::fmt;

/// One broken rule of a catalog, printed as `file:line: message`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub file: String,
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} cannot be read: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} cannot be written: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("{0} holds no file that ends with .catalog")]
    Empty(String),
    #[error("the catalog breaks a rule: {}{}", .0[0], more(.0.len()))]
    Invalid(Vec<Problem>),
    #[error("the catalog has versions 1 to {newest}, not {asked}")]
    NoSuchVersion { asked: u32, newest: u32 },
    #[error("{0}")]
    Import(String),
}

fn more(problems: usize) -> String {
    if problems > 1 { format!(" (and {} more)", problems - 1) } else { String::new() }
}
