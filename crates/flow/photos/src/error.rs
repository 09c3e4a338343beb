use cluster::work::WorkError;
use topics::consume::Blame;
use web::Problem;
use wire::model::Issue;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What keeps a request from being answered now. A photo that cannot be had is no error but an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Engine(#[from] kit::Error),
    #[error("an image could not be worked on: {0}")]
    Work(String),
    #[error("{detail}")]
    Quota { name: &'static str, detail: String },
    /// An upload that is refused.
    #[error("the photo is refused: {}", .0.code)]
    Refused(Box<Issue>),
}

impl Blame for Error {
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_records_fault(),
            Self::Work(_) => false,
            Self::Refused(_) | Self::Quota { .. } => true,
        }
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_fenced())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error.into(),
            Error::Work(text) => Problem::new(web::Code::Internal, text),
            Error::Quota { name, detail } => Problem::named(web::Code::TooManyRequests, name, detail),
            Error::Refused(issue) => {
                let text = model::message::render(&issue, model::Language::English);
                Problem::field("photo", &issue.code, text)
            }
        }
    }
}
