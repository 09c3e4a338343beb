use std::fmt;

/// A record that says nothing to its consumer, and why.
#[derive(Clone, Debug)]
pub struct Undecodable(pub String);

/// Why records could not be applied.
#[derive(Clone, Debug)]
pub enum Failure {
    /// It may go through later, or may have gone through: the partition stops there and asks again.
    Transient(String),
    /// These records fail here, and will again; one that fails so alone ten times becomes a dead letter.
    Determinate(String),
}

impl Failure {
    pub fn transient(reason: impl fmt::Display) -> Self {
        Self::Transient(reason.to_string())
    }

    pub fn determinate(reason: impl fmt::Display) -> Self {
        Self::Determinate(reason.to_string())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        // Only what the records themselves ask for is their fault; a damaged or foreign store is not.
        if error.kind() == store::Kind::Invalid { Self::determinate(error) } else { Self::transient(error) }
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        if error.kind() == crate::Kind::Invalid { Self::determinate(error) } else { Self::transient(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient(reason) | Self::Determinate(reason) => f.write_str(reason),
        }
    }
}
