//! The console in a real browser.
#![allow(unreachable_pub, reason = "nothing of a test is reached from outside")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod chromium;
mod looks;
#[allow(dead_code, reason = "shared with the other tests of the program, which need more of it")]
#[path = "../server/program.rs"]
mod program;
mod silver;
mod stages;
mod story;
