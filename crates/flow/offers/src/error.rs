use cluster::work::WorkError;
use model::status::IllegalMove;
use model::{BadOfferId, Issue, OfferId};
use topics::consume::Blame;
use web::{Code, FieldError, Problem};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a call on offers can end with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    BadId(#[from] BadOfferId),
    #[error("there is no offer {0}")]
    NoOffer(OfferId),
    #[error("{0}")]
    IllegalMove(#[from] IllegalMove),
    #[error("the offer is kept by the feed {namespace}: change {field} there")]
    ManagedByFeed { namespace: String, field: String },
    #[error("the offer has the version {now}, not {expected}")]
    Stale { now: i64, expected: i64 },
    #[error("some value is not valid")]
    Invalid(Vec<Issue>),
    #[error("the offer has {bytes} bytes, at most {most} are allowed")]
    TooLarge { bytes: usize, most: usize },
    #[error("the seller may have at most {0} offers")]
    TooManyOffers(i64),
    #[error("{detail}")]
    Conflict { name: &'static str, detail: String },
    #[error("{0}")]
    Missing(String),
    /// A body that does not have the form of an offer.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Files(#[from] files::Error),
    #[error("a file of the archive cannot be read: {0}")]
    Archive(String),
    #[error("{0}")]
    Topics(#[from] topics::Error),
    #[error("{0}")]
    Cluster(#[from] cluster::Error),
}

impl Error {
    /// The language decides the words of the fields' messages.
    pub fn problem(self, language: web::Language) -> Problem {
        match self {
            Self::BadId(error) => Problem::named(Code::BadRequest, "bad_offer_id", error.to_string()),
            Self::NoOffer(_) | Self::Missing(_) => Problem::not_found(self.to_string()),
            Self::IllegalMove(_) => Problem::named(Code::Conflict, "illegal_move", self.to_string()),
            Self::ManagedByFeed { .. } => Problem::named(Code::Conflict, "managed_by_feed", self.to_string()),
            Self::Stale { .. } => Problem::new(Code::PreconditionFailed, self.to_string()),
            Self::Invalid(issues) => {
                Problem::fields(issues.iter().map(|issue| field_error(issue, language)).collect())
            }
            Self::TooLarge { .. } => Problem::new(Code::TooLarge, self.to_string()),
            Self::TooManyOffers(_) => Problem::named(Code::Invalid, "quota_offers", self.to_string()),
            Self::Conflict { name, detail } => Problem::named(Code::Conflict, name, detail),
            Self::Refused(problem) => *problem,
            Self::Store(error) => error.into(),
            Self::Files(error) if error.is_transient() => Problem::new(Code::Unavailable, error.to_string()),
            Self::Files(_) | Self::Archive(_) => Problem::new(Code::Internal, self.to_string()),
            Self::Topics(error) => error.into(),
            Self::Cluster(error) => error.into(),
        }
    }
}

pub(crate) fn field_error(issue: &Issue, language: web::Language) -> FieldError {
    FieldError {
        field: issue.field.clone(),
        code: issue.code.clone(),
        message: model::message::render(issue, words(language)),
    }
}

/// The domain's language for the caller's.
pub fn words(language: web::Language) -> model::Language {
    match language {
        web::Language::English => model::Language::English,
        web::Language::Russian => model::Language::Russian,
    }
}

impl Blame for Error {
    /// What an engine may do right next time is tried again; the rest is the record's own fault.
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Store(error) => error.is_records_fault(),
            Self::Topics(error) => error.is_records_fault(),
            Self::Files(error) => error.is_records_fault(),
            Self::Cluster(error) => error.is_records_fault(),
            Self::Archive(_) => false,
            _ => true,
        }
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Cluster(error) if error.is_fenced())
    }
}
