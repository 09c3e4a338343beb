use cluster::work::WorkError;
use topics::consume::Blame;
use web::{Code, Problem};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a call on feeds can end with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no feed {0:?}")]
    NoFeed(String),
    #[error("there is no load {task_id} of the feed {namespace:?}")]
    NoTask { namespace: String, task_id: i64 },
    #[error("{field}: {message}")]
    Invalid { field: &'static str, code: &'static str, message: String },
    #[error("{detail}")]
    Conflict { name: &'static str, detail: String },
    #[error("{0}")]
    Gone(String),
    #[error("{detail}")]
    Quota { name: &'static str, detail: String },
    #[error("{0}")]
    Engine(#[from] kit::Error),
}

impl Error {
    /// Whether the failed call may have had its effect all the same.
    pub(crate) fn may_have_happened(&self) -> bool {
        matches!(self, Self::Engine(error) if error.may_have_happened())
    }

    pub(crate) fn conflict(name: &'static str, detail: impl Into<String>) -> Self {
        Self::Conflict { name, detail: detail.into() }
    }

    pub(crate) fn invalid(field: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { field, code, message: message.into() }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NoFeed(_) | Error::NoTask { .. } => Self::not_found(error.to_string()),
            Error::Invalid { field, code, message } => Self::field(field, code, message),
            Error::Conflict { name, detail } => Self::named(Code::Conflict, name, detail),
            Error::Gone(detail) => Self::new(Code::Gone, detail),
            Error::Quota { name, detail } => Self::named(Code::TooManyRequests, name, detail),
            Error::Engine(error) => error.into(),
        }
    }
}

impl Blame for Error {
    /// What an engine may do right next time is tried again; the rest is the record's own fault.
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_records_fault(),
            _ => true,
        }
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_fenced())
    }
}
