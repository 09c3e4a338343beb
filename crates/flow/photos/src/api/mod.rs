//! What photos serve.

pub mod http;
