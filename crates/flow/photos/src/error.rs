use cluster::work::WorkError;
use topics::consume::Blame;
use web::Problem;
use wire::model::Issue;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What keeps a request from being answered now. A photo that cannot be had is no error but an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Topics(#[from] topics::Error),
    #[error(transparent)]
    Files(#[from] files::Error),
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("an image could not be worked on: {0}")]
    Work(String),
    /// An upload that is refused.
    #[error("the photo is refused: {}", .0.code)]
    Refused(Box<Issue>),
}

impl Blame for Error {
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Store(error) => error.is_records_fault(),
            Self::Topics(error) => error.is_records_fault(),
            Self::Files(error) => error.is_records_fault(),
            Self::Cluster(error) => error.is_records_fault(),
            Self::Work(_) => false,
            Self::Refused(_) => true,
        }
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.is_fenced())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error.into(),
            Error::Topics(error) => error.into(),
            Error::Files(error) => error.into(),
            Error::Cluster(error) => error.into(),
            Error::Work(text) => Problem::new(web::Code::Internal, text),
            Error::Refused(issue) => {
                let text = model::message::render(&issue, model::Language::English);
                Problem::field("photo", &issue.code, text)
            }
        }
    }
}
