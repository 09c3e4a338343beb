//! The numbers of this crate, under the names that dashboards know.

use crate::tokens::Tokens;

pub(crate) fn beat(outcome: &'static str) {
    metrics::counter!("dvor_cluster_beats_total", "outcome" => outcome).increment(1);
}

pub(crate) fn taken(role: &str, from_the_dead: bool) {
    let how = if from_the_dead { "takeover" } else { "free" };
    metrics::counter!("dvor_cluster_tokens_taken_total", "role" => role.to_owned(), "from" => how)
        .increment(1);
}

pub(crate) fn lapsed() {
    metrics::counter!("dvor_cluster_leases_lost_total").increment(1);
}

pub(crate) fn fenced(role: &str) {
    metrics::counter!("dvor_cluster_fenced_total", "role" => role.to_owned()).increment(1);
}

pub(crate) fn held(tokens: &Tokens) {
    for (role, held) in tokens.held_counts() {
        metrics::gauge!("dvor_cluster_tokens_held", "role" => role.to_owned()).set(held as f64);
    }
}

pub(crate) fn live_members(count: usize) {
    metrics::gauge!("dvor_cluster_members_live").set(count as f64);
}
