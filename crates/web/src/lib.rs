//! What every door of Dvor has in common, whatever system stands behind it.
//!
//! The flow crates serve their own routes (`api/http.rs`, `api/grpc.rs`), and the server puts them behind its ports. Both
//! need the same three things, so they live here, between the engines and the flow:
//!
//! - [`Problem`]: what went wrong with a call, once for HTTP (problem+json) and gRPC. Errors of the engines turn into it
//!   here and nowhere else; a flow crate turns its own errors into it in its `error.rs`.
//! - [`Access`]: who calls and what for. The server's guard verifies the token and puts it into the request; a route takes
//!   it as an argument and asks it for what it needs. There is no route without that question.
//! - [`Page`] and [`limit`]: lists in parts.
//! - [`Verdict`] and [`Judged`]: what people do with things that failed, `…/failures/{id}/{verdict}`.
//!
//! Not here: tokens and their storage, listening, time limits, metrics. Those are the server's.

mod access;
mod failures;
mod paging;
mod problem;

pub use access::{Access, Scope};
pub use failures::{Judge, Judged, Verdict, judge_each, parse_id, write_id};
pub use model::Language;
pub use paging::{Page, limit, within};
pub use problem::{Code, FieldError, Problem, ProblemBody, Result, language};
