//! How the program ends, for scripts.

use std::fmt;

use kit::Kind;

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
    match error.downcast_ref::<kit::Error>().map(kit::Error::kind) {
        Some(Kind::Locked | Kind::Unavailable | Kind::Unknown) => UNAVAILABLE,
        Some(Kind::Denied) => DENIED,
        Some(Kind::Invalid) => USAGE,
        _ => FAILED,
    }
}
