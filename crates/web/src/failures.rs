//! What people can do with things that failed, wherever they are kept: one shape of the API.
//!
//! - `GET …/failures` lists them in parts, by a filter in the query;
//! - `POST …/failures/{id}/{retry|drop}` deals with one: 202, it will be tried; 204, it is done or gone; 404, there is none;
//! - `POST …/failures/{retry|drop}` deals with all that the filter in the query takes, and says how many ([`Judged`]).

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
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

/// Failures that are dealt with one after another, each in a transaction of its own.
#[async_trait]
pub trait Judge: Send + Sync {
    type Failure: Send + Sync;
    type Error: Send;

    /// Some of those behind this one, in an order that stays; none: there are no more.
    async fn list(&self, after: Option<&Self::Failure>) -> Result<Vec<Self::Failure>, Self::Error>;

    /// Whether it is done now, or failed again; `None`: it is not meant, or somebody else dealt with it.
    async fn judge(&self, failure: &Self::Failure) -> Result<Option<bool>, Self::Error>;
}

/// Deals with all of them.
pub async fn judge_each<J: Judge>(judge: &J) -> Result<Judged, J::Error> {
    let (mut judged, mut after) = (Judged::default(), None);
    loop {
        let mut page = judge.list(after.as_ref()).await?;
        for failure in &page {
            match judge.judge(failure).await? {
                Some(true) => judged.done += 1,
                Some(false) => judged.failed += 1,
                None => {}
            }
        }
        match page.pop() {
            Some(last) => after = Some(last),
            None => return Ok(judged),
        }
    }
}

/// What names a failure, as one word of an address.
pub fn write_id(parts: &impl Serialize) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_string(parts).unwrap_or_default())
}

/// What [`write_id`] wrote; `field` is where it stood.
pub fn parse_id<T: DeserializeOwned>(field: &str, text: &str) -> Result<T> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
    let parts = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    parts.ok_or_else(|| Problem::field(field, "bad_id", "this is not an id that the list of failures gave"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_what_they_write() {
        let id = ("group/ж".to_owned(), 3_u32, -9_i64);
        assert_eq!(parse_id::<(String, u32, i64)>("id", &write_id(&id)).unwrap(), id);
        assert!(parse_id::<(String, u32, i64)>("id", "nonsense").is_err());
        assert!(parse_id::<(String, u32)>("id", &write_id(&id)).is_err());
    }

    struct Numbers;

    #[async_trait]
    impl Judge for Numbers {
        type Failure = u32;
        type Error = Problem;

        async fn list(&self, after: Option<&u32>) -> Result<Vec<u32>> {
            Ok((0..10).filter(|number| after.is_none_or(|after| number > after)).take(3).collect())
        }

        async fn judge(&self, number: &u32) -> Result<Option<bool>> {
            Ok([None, Some(false), Some(true)][(*number).min(2) as usize])
        }
    }

    #[tokio::test]
    async fn all_are_judged_once_page_by_page() {
        assert_eq!(judge_each(&Numbers).await.unwrap(), Judged { done: 8, failed: 1 });
    }
}
