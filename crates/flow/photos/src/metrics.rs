use wire::model::{Photo, PhotoState};

pub(crate) fn downloaded(bytes: u64) {
    metrics::counter!("dvor_photos_downloaded_bytes_total").increment(bytes);
}

/// An image that was refused, by the code of the reason.
pub(crate) fn refused(code: &'static str) {
    metrics::counter!("dvor_photos_refused_total", "code" => code).increment(1);
}

pub(crate) fn answered(photos: &[Photo]) {
    let ready = photos.iter().filter(|photo| photo.state() == PhotoState::Ready).count();
    metrics::counter!("dvor_photos_requests_answered_total").increment(1);
    metrics::counter!("dvor_photos_ready_total").increment(ready as u64);
    metrics::counter!("dvor_photos_failed_total").increment((photos.len() - ready) as u64);
}
