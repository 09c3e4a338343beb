//! What can go wrong, and what a caller is told of it.

use std::fmt;

use cluster::work::WorkError;
use web::{Code, FieldError, Problem};

use crate::config::Place;

/// A configuration that cannot be used, and where that is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub place: Option<Place>,
    pub message: String,
}

impl ConfigError {
    pub(crate) fn at(place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), message: message.into() }
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Place { line, column }) => write!(f, "line {line}, column {column}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Content that a validator or a convertor refuses: why, and where in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invalid {
    /// A JSON pointer; empty for the whole.
    pub pointer: String,
    pub message: String,
}

impl Invalid {
    pub fn new(message: impl Into<String>) -> Self {
        Self { pointer: String::new(), message: message.into() }
    }
}

/// Why nothing was made of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The content is to blame, and will be next time.
    Invalid(Invalid),
    /// This process could not look at it now; the same content may pass later.
    Unavailable(String),
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// Why a call was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    BadRequest(String),
    /// A snippet of the request refuses the content.
    #[error("{snippet}: {}{}", if .invalid.pointer.is_empty() { String::new() } else { format!("{}: ", .invalid.pointer) }, .invalid.message)]
    Invalid { snippet: String, invalid: Invalid },
    /// Nothing was done, for lack of something that has nothing to do with the content.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    TooLarge(String),
    /// The writer knows other documents than those that are there.
    #[error("{0}")]
    Precondition(String),
    /// Something newer has been written since.
    #[error("{0}")]
    Superseded(String),
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Engine(#[from] kit::Error),
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        false
    }
}

impl Error {
    /// What becomes of a call when a snippet refuses its content.
    pub(crate) fn of(snippet: &str, refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(invalid) => Self::Invalid { snippet: snippet.to_owned(), invalid },
            Refusal::Unavailable(reason) => Self::Unavailable(format!("{snippet}: {reason}")),
        }
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::BadRequest(_) => Self::new(Code::BadRequest, text),
            Error::NotFound(_) => Self::new(Code::NotFound, text),
            Error::TooLarge(_) => Self::new(Code::TooLarge, text),
            Error::Unavailable(_) => Self::new(Code::Unavailable, text),
            Error::Precondition(_) => Self::new(Code::PreconditionFailed, text),
            Error::Superseded(_) => Self::named(Code::Conflict, "superseded", text),
            Error::Config(_) => Self::named(Code::Invalid, "bad_config", text),
            Error::Invalid { snippet, invalid } => {
                let error = FieldError {
                    field: format!("{snippet}#{}", invalid.pointer),
                    code: "invalid_content".to_owned(),
                    message: invalid.message,
                };
                Self { errors: vec![error], ..Self::named(Code::Invalid, "invalid_content", text) }
            }
            Error::Engine(error) => error.into(),
        }
    }
}
