//! The numbers of this crate, under the names that dashboards know.

use crate::tokens::Tokens;
use crate::work::Done;

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

pub(crate) fn work_state(work: &'static str, running: usize, waiting: usize) {
    metrics::gauge!("dvor_work_running", "work" => work).set(running as f64);
    metrics::gauge!("dvor_work_waiting", "work" => work).set(waiting as f64);
}

pub(crate) fn work_done(work: &'static str, done: Done) {
    let outcome = match done {
        Done::Finished => "finished",
        Done::More => "more",
        Done::NotNow | Done::Behind | Done::Later(_) => "not_now",
    };
    work_ended(work, outcome);
}

pub(crate) fn work_failed(work: &'static str) {
    work_ended(work, "failed");
}

pub(crate) fn work_panicked(work: &'static str) {
    work_ended(work, "panicked");
}

pub(crate) fn work_given_up(work: &'static str) {
    work_ended(work, "given_up");
}

fn work_ended(work: &'static str, outcome: &'static str) {
    metrics::counter!("dvor_work_pieces_total", "work" => work, "outcome" => outcome).increment(1);
}
