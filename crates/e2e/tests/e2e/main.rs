//! What only real processes can show, in the short form that CI runs, and simulations of several systems together.
#![allow(clippy::unwrap_used)]

mod cluster;
mod feeds_hostile;
mod feeds_kill;
mod master_data;
mod offers_kill;
mod patience;
mod silver_kill;
mod silver_way;
mod snippets_kill;
mod snippets_offers;
mod snippets_port;
mod snippets_ttl;
mod stages_kill;
mod store_kill;
mod together_kill;
