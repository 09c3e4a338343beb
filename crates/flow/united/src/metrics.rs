use metrics::{counter, gauge};

pub(crate) fn shipped(offers: u64) {
    counter!("dvor_united_shipments_total").increment(offers);
}

/// A change of this field caused shipments.
pub(crate) fn triggered(field: &str, shipments: u64) {
    counter!("dvor_united_triggers_total", "field" => field.to_owned()).increment(shipments);
}

pub(crate) fn flapping(fields: usize) {
    gauge!("dvor_united_flapping_fields").set(fields as f64);
}
