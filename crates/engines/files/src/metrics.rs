//! What files count. Names are stable; the labels hold no hashes.

use std::time::Duration;

use crate::{Error, Result};

pub(crate) fn received(bytes: u64) {
    metrics::counter!("dvor_files_received_bytes_total").increment(bytes);
}

pub(crate) fn receive_failed(error: &Error) {
    metrics::counter!("dvor_files_receive_errors_total", "kind" => format!("{:?}", error.kind()))
        .increment(1);
}

pub(crate) fn read(bytes: usize) {
    metrics::counter!("dvor_files_read_bytes_total").increment(bytes as u64);
}

/// A content that was there already costs nothing.
pub(crate) fn already_present(bytes: u64) {
    metrics::counter!("dvor_files_deduplicated_bytes_total").increment(bytes);
}

/// A call to the object store.
pub(crate) fn object_call<T>(operation: &'static str, took: Duration, outcome: &Result<T>) {
    let result = match outcome {
        Ok(_) => "ok",
        Err(error) if error.may_have_happened() => "unknown",
        Err(_) => "error",
    };
    metrics::counter!("dvor_files_object_calls_total", "operation" => operation, "result" => result)
        .increment(1);
    metrics::histogram!("dvor_files_object_call_seconds", "operation" => operation).record(took);
}

pub(crate) fn corrupt() {
    metrics::counter!("dvor_files_corrupt_total").increment(1);
}

pub(crate) fn swept(answer: &'static str) {
    metrics::counter!("dvor_files_swept_references_total", "answer" => answer).increment(1);
}
