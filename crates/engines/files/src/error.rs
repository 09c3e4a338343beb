use std::error::Error as StdError;
use std::{fmt, io};

use object_store::client::{HttpError, HttpErrorKind};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by what the caller can do about it. Only [`Kind::Unknown`] may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No such file, or nobody holds it any more.
    NotFound,
    /// The stream brought more than its limit.
    TooLarge,
    /// The stream ended early, or failed. Nothing is left of it.
    Incomplete,
    /// There is too little room left on the disk.
    Full,
    /// Stored bytes are not what they should be.
    Corrupt,
    /// The storage cannot be reached or is overloaded. It *did not happen*; trying again is safe.
    Unavailable,
    /// The answer was lost on the way. It *may have happened*; trying again is safe too.
    Unknown,
    /// Something that can never be done: a wrong URL, a missing bucket, a range behind the end.
    Invalid,
    /// The storage refused who we are.
    Denied,
}

pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub fn with_source(
        kind: Kind,
        message: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, message: message.into(), source: Some(source.into()) }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the failed call may have had its effect all the same.
    pub fn may_have_happened(&self) -> bool {
        self.kind == Kind::Unknown
    }

    /// Whether the same call may go through later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, Kind::Unavailable | Kind::Unknown | Kind::Full)
    }

    /// A failed call to the file system that changed nothing that counts.
    pub(crate) fn io(message: impl Into<String>, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => Kind::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Kind::Full,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Kind::Denied,
            _ => Kind::Unavailable,
        };
        Self::with_source(kind, message, source)
    }

    /// A failed read from an object store.
    pub(crate) fn read(message: impl Into<String>, source: object_store::Error) -> Self {
        let kind = match &source {
            object_store::Error::NotFound { .. } => Kind::NotFound,
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Kind::Denied
            }
            _ => Kind::Unavailable,
        };
        Self::with_source(kind, message, source)
    }

    /// A failed write to an object store: unless it was refused or never sent, it may be there.
    pub(crate) fn write(message: impl Into<String>, source: object_store::Error) -> Self {
        let kind = match &source {
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Kind::Denied
            }
            // Writing needs nothing but the bucket.
            object_store::Error::NotFound { .. } => Kind::Invalid,
            other if never_sent(other) => Kind::Unavailable,
            _ => Kind::Unknown,
        };
        Self::with_source(kind, message, source)
    }
}

fn never_sent(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return http.kind() == HttpErrorKind::Connect;
        }
        cause = error.source();
    }
    false
}

impl topics::consume::Blame for Error {
    fn is_records_fault(&self) -> bool {
        self.kind() == Kind::Invalid
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let kind = match error.kind() {
            store::Kind::Unavailable | store::Kind::Locked => Kind::Unavailable,
            store::Kind::Unknown => Kind::Unknown,
            store::Kind::Corrupt => Kind::Corrupt,
            store::Kind::Full => Kind::Full,
            store::Kind::Denied => Kind::Denied,
            store::Kind::Invalid | store::Kind::Incompatible => Kind::Invalid,
        };
        Self::with_source(kind, "the rows of a file", error)
    }
}

impl From<topics::Error> for Error {
    fn from(error: topics::Error) -> Self {
        let kind = match error.kind() {
            topics::Kind::Unavailable | topics::Kind::NotAssigned => Kind::Unavailable,
            topics::Kind::Unknown => Kind::Unknown,
            topics::Kind::Corrupt => Kind::Corrupt,
            topics::Kind::Full => Kind::Full,
            topics::Kind::Denied => Kind::Denied,
            topics::Kind::Invalid | topics::Kind::UnknownTopic | topics::Kind::Incompatible => Kind::Invalid,
        };
        Self::with_source(kind, "the release of a file", error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut source: Option<&(dyn StdError + 'static)> = self.source.as_deref().map(|s| s as _);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.kind)
    }
}

// The sources are part of the text already, so none is handed on: a chain printer would say them twice.
impl StdError for Error {}
