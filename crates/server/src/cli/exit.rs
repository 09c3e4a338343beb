//! How the program ends, for scripts.

use std::fmt;

pub const FAILED: u8 = 1;
/// A wrong command line or configuration.
pub const USAGE: u8 = 2;
/// What was named is not there.
pub const NOT_FOUND: u8 = 3;
/// An access token is missing, unknown or not allowed to do this; a database refused the password.
pub const DENIED: u8 = 4;
/// Somebody else holds it, or it does not answer: trying again may help.
pub const UNAVAILABLE: u8 = 5;

/// An error that knows its exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    pub fn of(code: u8, message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Self { code, message: message.into() })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// The exit code of an error.
pub fn code(error: &anyhow::Error) -> u8 {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.code;
    }
    if let Some(error) = error.downcast_ref::<store::Error>() {
        return match error.kind() {
            store::Kind::Locked | store::Kind::Unavailable | store::Kind::Unknown => UNAVAILABLE,
            store::Kind::Denied => DENIED,
            store::Kind::Invalid => USAGE,
            store::Kind::Corrupt | store::Kind::Incompatible | store::Kind::Full => FAILED,
        };
    }
    match error.downcast_ref::<topics::Error>().map(topics::Error::kind) {
        Some(topics::Kind::Unavailable | topics::Kind::Unknown) => UNAVAILABLE,
        Some(topics::Kind::Denied) => DENIED,
        Some(topics::Kind::Invalid) => USAGE,
        _ => FAILED,
    }
}
