//! The console in a real browser.
#![allow(clippy::unwrap_used)]

mod chromium;
mod looks;
#[allow(dead_code, reason = "shared with the other tests of the program, which need more of it")]
#[path = "../server/program.rs"]
mod program;
mod story;
