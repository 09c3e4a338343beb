//! Snippets as their callers see them: the configuration, HTTP, topics, and time.

#![allow(unreachable_pub, reason = "nothing of a test is reached from outside")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod answers;
mod checks;
mod conditions;
mod convert;
mod docs;
mod dropped;
mod effects;
mod explain;
mod groups;
mod hostile;
mod jq;
mod offers;
mod options;
mod prefixes;
mod refusals;
mod reloads;
mod schemas;
mod shout;
mod strict;
mod time;
mod topics;
mod unavailable;
mod world;
