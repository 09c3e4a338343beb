use std::fmt;
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, by what can be told to the one who wrote the url.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not a url, or neither http nor https.
    BadUrl,
    /// The host is, or leads to, an address that is not public.
    ForbiddenAddress,
    /// No such host, no connection, no TLS, or no HTTP spoken there.
    Unreachable,
    /// Nothing came for too long.
    IdleTimeout,
    /// It took too long as a whole.
    TotalTimeout,
    /// More bytes than allowed, announced or come.
    TooLarge,
    /// The connection ended before the announced end of the body.
    Truncated,
    /// The server answered with this status.
    BadStatus(u16),
    TooManyRedirects,
    /// The one who takes the bytes failed; the download itself did not.
    Sink,
    /// The options cannot be used.
    Options,
}

/// One sentence, with the url as it may be shown.
#[derive(Clone)]
pub struct Error {
    kind: Kind,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the same download may go through later without anybody having changed the url.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            Kind::Unreachable | Kind::IdleTimeout | Kind::TotalTimeout | Kind::Truncated | Kind::Sink => true,
            Kind::BadStatus(status) => status >= 500 || status == 408 || status == 429,
            Kind::BadUrl
            | Kind::ForbiddenAddress
            | Kind::TooLarge
            | Kind::TooManyRedirects
            | Kind::Options => false,
        }
    }

    pub(crate) fn idle(url: &str, limit: Duration) -> Self {
        Self::new(Kind::IdleTimeout, format!("{url} sent nothing for {}", seconds(limit)))
    }

    pub(crate) fn total(url: &str, limit: Duration) -> Self {
        Self::new(Kind::TotalTimeout, format!("{url} did not arrive within {}", seconds(limit)))
    }

    pub(crate) fn too_large(url: &str, limit: u64) -> Self {
        Self::new(Kind::TooLarge, format!("{url} has more than {limit} bytes"))
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

/// The causes of an error in one line; those of hyper and rustls name no url.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({self})", self.kind)
    }
}

impl std::error::Error for Error {}
