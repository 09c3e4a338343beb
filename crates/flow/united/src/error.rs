//! What can go wrong.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part that cannot be kept, and why.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// It lives elsewhere.
    #[error("offer {shop_sku} of business {business} moved to business {home}")]
    Moved { business: u32, shop_sku: String, home: u32 },
    #[error("{0}")]
    Engine(#[from] kit::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl topics::consume::Blame for Error {
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::NotFound(_) | Self::Moved { .. } => true,
            Self::Engine(error) => error.is_records_fault(),
        }
    }
}

impl cluster::work::WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_fenced())
    }
}

impl From<Error> for web::Problem {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid(_) => Self::new(web::Code::Invalid, text),
            Error::NotFound(_) => Self::not_found(text),
            Error::Moved { .. } => Self::new(web::Code::Conflict, text),
            Error::Engine(error) => error.into(),
        }
    }
}
