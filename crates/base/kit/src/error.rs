use std::error::Error as StdError;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong in an engine, by what the caller can do about it. Only [`Kind::Unknown`] may have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server behind the engine cannot be reached or is overloaded. It *did not happen*; trying again is safe.
    Unavailable,
    /// The answer was lost on the way. It *may have happened*.
    Unknown,
    /// The caller asked for something that no backend can do: a key too long, a message too large, a bad name or URL.
    Invalid,
    /// Stored bytes are not what they should be.
    Corrupt,
    /// Another process holds the data folder.
    Locked,
    /// What is stored was made by a newer version, or is not what the configuration says.
    Incompatible,
    /// There is no room left; reads go on.
    Full,
    /// The server refused who we are.
    Denied,
    /// There is no such topic.
    UnknownTopic,
    /// The partition is no longer assigned to this reader, or its group was rewound.
    NotAssigned,
    /// No such file, or nobody holds it any more.
    NotFound,
    /// A stream brought more than its limit.
    TooLarge,
    /// A stream ended early, or failed. Nothing is left of it.
    Incomplete,
    /// The work token or the lock belongs to another process now, or to none: nothing may be committed under it.
    Fenced,
    /// The process has left the cluster.
    Left,
}

/// The one error of the engines: store, topics, files, cluster.
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

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message)
    }

    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Kind::Unknown, message)
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(Kind::Corrupt, message)
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

    /// Whether somebody else may work on it now, so that this process must drop what it was doing.
    pub fn is_fenced(&self) -> bool {
        self.kind == Kind::Fenced
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
