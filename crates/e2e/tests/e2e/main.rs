//! What only real processes can show, in the short form that CI runs.
#![allow(clippy::unwrap_used)]

mod cluster;
mod feeds_hostile;
mod feeds_kill;
mod offers_kill;
mod patience;
mod snippets_kill;
mod snippets_offers;
mod snippets_port;
mod snippets_ttl;
mod store_kill;
