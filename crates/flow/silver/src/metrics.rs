use metrics::counter;

/// Offers of a batch that a step had, by what became of them.
pub(crate) fn stepped(step: &'static str, outcome: &'static str, offers: u64) {
    counter!("dvor_silver_offers_total", "step" => step, "outcome" => outcome).increment(offers);
}
