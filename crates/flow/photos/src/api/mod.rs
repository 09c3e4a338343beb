//! What photos serve.

mod http;

pub use http::{PUBLIC_PREFIX, routes};
