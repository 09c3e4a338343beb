//! What an answer of the server means for the caller.

use std::error::Error as _;
use std::fmt::Write as _;

use tokio_postgres::error::{DbError, Error as PgError, Severity, SqlState};

use crate::{Error, Kind};

/// Errors of which several processes that create the same things at once get some; trying again cures them.
const RACES: [SqlState; 7] = [
    SqlState::UNIQUE_VIOLATION,
    SqlState::DUPLICATE_SCHEMA,
    SqlState::DUPLICATE_TABLE,
    SqlState::DUPLICATE_OBJECT,
    SqlState::T_R_SERIALIZATION_FAILURE,
    SqlState::T_R_DEADLOCK_DETECTED,
    // "tuple concurrently updated", when two create or alter one thing.
    SqlState::INTERNAL_ERROR,
];

/// An error of a call that changed nothing.
pub(super) fn did_not_happen(place: &str, error: &PgError) -> Error {
    Error::new(kind(error), format!("PostgreSQL at {place}: {}", sentence(error)))
}

/// Whether no encryption could be agreed on. The driver tells its kinds of errors apart by their words only.
pub(super) fn is_tls(error: &PgError) -> bool {
    error.to_string().starts_with("error performing TLS handshake")
}

/// Whether the server has no rule that lets us in over a connection of this kind.
pub(super) fn is_no_entry(error: &PgError) -> bool {
    error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

/// An error of encryption, which depends on the `sslmode` of the address.
pub(super) fn of_tls(place: &str, mode: &str, error: &PgError) -> Error {
    let mut reason = sentence(error);
    if let Some((_, cause)) = reason.split_once(": ") {
        reason = cause.to_owned();
    }
    let text = format!("PostgreSQL at {place}: no encrypted connection (sslmode={mode}): {reason}");
    Error::new(Kind::Unavailable, text)
}

/// An error of a call whose answer was lost.
pub(super) fn may_have_happened(place: &str, error: &PgError) -> Error {
    Error::unknown(format!("PostgreSQL at {place} was lost before its answer came: {}", sentence(error)))
}

/// What became of a transaction whose COMMIT, or a write before it, was answered with this error.
///
/// An answer of severity ERROR is the server's word that the transaction is undone. A broken connection says nothing,
/// and neither do the endings of a whole session (FATAL, PANIC) when they stand in the place of COMMIT's own answer.
pub(super) fn of_commit(place: &str, error: &PgError) -> Error {
    match error.as_db_error() {
        Some(answer) if !ends_session(answer) && !is_unsure(answer) => did_not_happen(place, error),
        _ => may_have_happened(place, error),
    }
}

/// Whether the connection is of no more use.
pub(super) fn is_lost(error: &PgError) -> bool {
    error.as_db_error().is_none_or(ends_session)
}

pub(super) fn is_race(error: &PgError) -> bool {
    error.code().is_some_and(|code| RACES.contains(code))
}

fn ends_session(answer: &DbError) -> bool {
    // A server that speaks another language sends the plain severity only since PostgreSQL 9.6.
    match answer.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        None => answer.severity() != "ERROR",
    }
}

/// 40003 is `statement_completion_unknown`, class 08 speaks of connections (between the server's own parts).
fn is_unsure(answer: &DbError) -> bool {
    answer.code().code() == "40003" || answer.code().code().starts_with("08")
}

fn kind(error: &PgError) -> Kind {
    let Some(code) = error.code() else {
        // Without a password the driver gives up before the server can refuse.
        let text = sentence(error);
        let denied = text.contains("password missing") || text.contains("authentication error");
        return if denied { Kind::Denied } else { Kind::Unavailable };
    };
    match (code.code(), &code.code()[..2.min(code.code().len())]) {
        (_, "28") | ("42501", _) => Kind::Denied,
        ("53100", _) => Kind::Full,
        ("42P01" | "42703" | "3F000", _) => Kind::Incompatible,
        // No such database; data, constraints and limits that no repetition will satisfy.
        ("3D000", _) | (_, "22" | "23" | "54") => Kind::Invalid,
        ("XX001" | "XX002", _) => Kind::Corrupt,
        _ => Kind::Unavailable,
    }
}

/// The error with its causes in one line. Neither the driver nor the server ever repeats a password.
fn sentence(error: &PgError) -> String {
    if let Some(answer) = error.as_db_error() {
        return match kind(error) {
            Kind::Denied if answer.code().code().starts_with("28") => {
                format!("the user name or the password was refused ({})", answer.message())
            }
            _ => format!("{} (SQLSTATE {})", answer.message(), answer.code().code()),
        };
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing into a String cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
