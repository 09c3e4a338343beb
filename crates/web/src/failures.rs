//! What people can do with things that failed, wherever they are kept: one shape of the API.

use serde::{Deserialize, Serialize};

use crate::{Problem, Result};

/// What is to become of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Retry,
    Drop,
}

impl Verdict {
    /// Reads the last segment of `…/failures/{id}/{verdict}`.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "retry" => Ok(Self::Retry),
            "drop" => Ok(Self::Drop),
            _ => Err(Problem::not_found(format!("a failure can be told to retry or to drop, not {text:?}"))),
        }
    }

    /// For the notes of what admins do.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Drop => "drop",
        }
    }
}

/// What became of many failures at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Judged {
    /// Dropped, or tried again with success, or on their way to be tried.
    pub done: usize,
    /// Tried again, and failed again.
    pub failed: usize,
}
