pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What keeps the scheduler from going on. A stage that fails is no error of the scheduler.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Engine(#[from] kit::Error),
    #[error(transparent)]
    Offers(#[from] offers::Error),
    #[error("the lease ends before a call could")]
    NoLease,
    #[error("there is no stage {0:?}")]
    NoStage(String),
    #[error("{0}: {1}")]
    Field(&'static str, String),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Conflict(String),
}

impl Error {
    /// Somebody else holds the work token now, so what was being done is theirs.
    pub fn is_fenced(&self) -> bool {
        match self {
            Self::Engine(error) | Self::Offers(offers::Error::Engine(error)) => error.is_fenced(),
            _ => false,
        }
    }
}
