use wire::model::{Photo, PhotoState};

pub(crate) fn downloaded(bytes: u64) {
    metrics::counter!("photos_downloaded_bytes_total").increment(bytes);
}

/// An image that was refused, by the code of the reason.
pub(crate) fn refused(code: &'static str) {
    metrics::counter!("photos_refused_total", "code" => code).increment(1);
}

pub(crate) fn answered(photos: &[Photo]) {
    let ready = photos.iter().filter(|photo| photo.state() == PhotoState::Ready).count();
    metrics::counter!("photos_requests_answered_total").increment(1);
    metrics::counter!("photos_ready_total").increment(ready as u64);
    metrics::counter!("photos_failed_total").increment((photos.len() - ready) as u64);
}

pub(crate) fn waiting(requests: usize) {
    metrics::gauge!("photos_requests_waiting").set(requests as f64);
}

pub(crate) fn retried() {
    metrics::counter!("photos_requests_retried_total").increment(1);
}
