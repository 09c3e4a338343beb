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
    #[error("too many visitors have begun a draft in this hour; try again later")]
    TooManyDrafts,
    #[error("{detail}")]
    Conflict { name: &'static str, detail: String },
    #[error("{0}")]
    Missing(String),
    /// A body that does not have the form of an offer.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("{0}")]
    Engine(#[from] kit::Error),
    #[error("a file of the archive cannot be read: {0}")]
    Archive(String),
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
            Self::TooManyDrafts => Problem::named(Code::TooManyRequests, "quota_drafts", self.to_string()),
            Self::Conflict { name, detail } => Problem::named(Code::Conflict, name, detail),
            Self::Refused(problem) => *problem,
            // A file that an offer is archived in: its reader has not named it.
            Self::Engine(error) if error.kind() == kit::Kind::NotFound => {
                Problem::new(Code::Internal, error.to_string())
            }
            Self::Engine(error) => error.into(),
            Self::Archive(_) => Problem::new(Code::Internal, self.to_string()),
        }
    }
}

pub(crate) fn field_error(issue: &Issue, language: web::Language) -> FieldError {
    FieldError {
        field: issue.field.clone(),
        code: issue.code.clone(),
        message: model::message::render(issue, language),
    }
}

impl Blame for Error {
    /// What an engine may do right next time is tried again; the rest is the record's own fault.
    fn is_records_fault(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_records_fault(),
            Self::Archive(_) => false,
            _ => true,
        }
    }
}

impl WorkError for Error {
    fn is_fenced(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_fenced())
    }
}
