use std::fmt;

/// A record that says nothing to its consumer, and why.
#[derive(Clone, Debug)]
pub struct Undecodable(pub String);

impl Undecodable {
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

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

/// An error that says whether the record that met it is to blame. Only what the record itself asks for is its fault; a
/// store that is away, damaged or foreign is not, and neither is a lost lease.
pub trait Blame: fmt::Display {
    fn is_records_fault(&self) -> bool;
}

/// The one place where an error becomes a failure.
impl<E: Blame> From<E> for Failure {
    fn from(error: E) -> Self {
        if error.is_records_fault() { Self::determinate(error) } else { Self::transient(error) }
    }
}

impl Blame for crate::Error {
    fn is_records_fault(&self) -> bool {
        self.kind() == crate::Kind::Invalid
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transient(reason) | Self::Determinate(reason) => f.write_str(reason),
        }
    }
}
