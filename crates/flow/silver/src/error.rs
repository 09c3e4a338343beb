//! What can go wrong.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// A setting that cannot hold: each time where, and why.
    #[error("{key}: {}", .problems.iter().map(|(place, why)| format!("{place}: {why}")).collect::<Vec<_>>().join("; "))]
    Setting { key: String, problems: Vec<(String, String)> },
    /// Somebody else changed the setting meanwhile.
    #[error("the setting is at version {0}")]
    Stale(i64),
    /// This process has not heard of the newest rules of gold yet; it reads them and tries again.
    #[error("gold rules of version {known} hold, and those of version {version} were to be used")]
    OlderRules { known: i64, version: i64 },
    #[error("{0}")]
    Engine(#[from] kit::Error),
    #[error("{0}")]
    United(#[from] united::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl topics::consume::Blame for Error {
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::NotFound(_) => true,
            Self::Setting { .. } | Self::Stale(_) | Self::OlderRules { .. } => false,
            Self::Engine(error) => error.is_records_fault(),
            Self::United(error) => error.is_records_fault(),
        }
    }
}

impl cluster::work::WorkError for Error {
    fn is_fenced(&self) -> bool {
        match self {
            Self::United(error) => cluster::work::WorkError::is_fenced(error),
            _ => false,
        }
    }
}

impl From<Error> for web::Problem {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid(_) => Self::new(web::Code::Invalid, text),
            Error::NotFound(_) => Self::not_found(text),
            Error::Stale(_) => Self::new(web::Code::PreconditionFailed, text),
            Error::Setting { problems, .. } => {
                let field = |(field, message)| web::FieldError { field, code: "invalid".to_owned(), message };
                Self {
                    errors: problems.into_iter().map(field).collect(),
                    ..Self::new(web::Code::Invalid, text)
                }
            }
            Error::OlderRules { .. } => Self::new(web::Code::Unavailable, text),
            Error::Engine(error) => error.into(),
            Error::United(error) => error.into(),
        }
    }
}
