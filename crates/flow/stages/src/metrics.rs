use offers::stages::Lane;

pub(crate) fn ran(stage: &str, lane: Lane, saved: usize, conflicts: usize) {
    let (stage, lane) = (stage.to_owned(), lane.name());
    metrics::counter!("dvor_stages_runs_total", "stage" => stage.clone(), "lane" => lane)
        .increment(saved as u64);
    if conflicts > 0 {
        metrics::counter!("dvor_stages_conflicts_total", "stage" => stage).increment(conflicts as u64);
    }
}

pub(crate) fn failed(stage: &str) {
    metrics::counter!("dvor_stages_failures_total", "stage" => stage.to_owned()).increment(1);
}

/// `on_saved` was called.
pub(crate) fn called(stage: &str, done: bool) {
    let outcome = if done { "done" } else { "failed" };
    metrics::counter!("dvor_stages_calls_total", "stage" => stage.to_owned(), "outcome" => outcome)
        .increment(1);
}

pub(crate) fn looped(stage: &str) {
    metrics::counter!("dvor_stages_loops_total", "stage" => stage.to_owned()).increment(1);
}

pub(crate) fn unavailable(stage: &str) {
    metrics::counter!("dvor_stages_unavailable_total", "stage" => stage.to_owned()).increment(1);
}
