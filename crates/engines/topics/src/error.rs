use std::error::Error as StdError;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The broker or the store cannot be reached or is overloaded. The write *did not happen*; trying again is safe.
    Unavailable,
    /// The answer was lost on the way. The write *may have happened*.
    Unknown,
    /// The caller asked for something that no backend can do: a message too large, a bad name.
    Invalid,
    /// There is no such topic.
    UnknownTopic,
    /// The topic is not what the configuration says, or its records are not where they were left.
    Incompatible,
    /// The partition is no longer assigned to this reader, or its group was rewound.
    NotAssigned,
    /// Stored bytes are not what they should be.
    Corrupt,
    /// There is no room left; reads go on.
    Full,
    /// The server refused who we are.
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

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub fn unknown_topic(topic: &str) -> Self {
        Self::new(Kind::UnknownTopic, format!("there is no topic {topic:?}"))
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the write of the failed call may be there all the same.
    pub fn may_have_happened(&self) -> bool {
        self.kind == Kind::Unknown
    }

    /// Whether the same call may go through later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, Kind::Unavailable | Kind::Unknown | Kind::Full | Kind::NotAssigned)
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let kind = match error.kind() {
            store::Kind::Unavailable | store::Kind::Locked => Kind::Unavailable,
            store::Kind::Unknown => Kind::Unknown,
            store::Kind::Invalid => Kind::Invalid,
            store::Kind::Corrupt => Kind::Corrupt,
            store::Kind::Incompatible => Kind::Incompatible,
            store::Kind::Full => Kind::Full,
            store::Kind::Denied => Kind::Denied,
        };
        Self::with_source(kind, "the store of the topics", error)
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
