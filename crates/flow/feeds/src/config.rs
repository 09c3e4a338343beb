use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// What those who run Dvor may choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often a feed is fetched when its seller does not say, and at most.
    pub period: Duration,
    pub min_period: Duration,
    /// More than this share of a feed's offers may not go without a person's word, in percent; 0: no guard.
    pub guard_percent: u32,
    /// Largest file, as it comes.
    pub max_file_bytes: u64,
    /// A batch ends with the record that reaches either.
    pub batch_records: u32,
    pub batch_bytes: u32,
    /// Processed loads of a feed that are kept.
    pub keep_tasks: usize,
    /// A dry run is forgotten after this.
    pub keep_dry_runs: Duration,
    /// Without a result for this long a load ends as `partial`.
    pub results_patience: Duration,
    /// Content that did not change is processed again after this all the same.
    pub unchanged_for: Duration,
    /// Waits between failed downloads: from the first, doubling to the second.
    pub fetch_backoff: (Duration, Duration),
    /// Waits between tries of a load that failed through nobody's fault.
    pub process_backoff: (Duration, Duration),
    pub process_tries: u32,
    /// A lock older than this is taken over, whoever holds it.
    pub lock_age: Duration,
    /// A download or an upload ends when nothing comes for so long, and a download when it takes so long as a whole.
    pub idle_timeout: Duration,
    pub total_timeout: Duration,
    /// Downloads at the same time in this process; as many again for services that hand over links.
    pub downloads: usize,
    /// Loads processed at the same time in this process, of which one is kept for small files.
    pub loads: usize,
    pub small_file_bytes: u64,
    /// A feed that has failed for so long is called dead.
    pub dead_after: Duration,
    /// Tries of a webhook.
    pub webhook_tries: u32,
    pub webhook_backoff: (Duration, Duration),
    /// Of one seller: feeds, uploads and uploaded bytes in an hour.
    pub max_namespaces: usize,
    pub uploads_per_hour: i64,
    pub upload_bytes_per_hour: i64,
    /// Of one seller in an hour: fetches and repeated loads that are asked for.
    pub fetches_per_hour: i64,
    pub reruns_per_hour: i64,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            period: 4 * HOUR,
            min_period: 15 * MINUTE,
            guard_percent: 50,
            max_file_bytes: 8 << 30,
            batch_records: 100,
            batch_bytes: 512 << 10,
            keep_tasks: 20,
            keep_dry_runs: DAY,
            results_patience: DAY,
            unchanged_for: 30 * DAY,
            fetch_backoff: (15 * MINUTE, DAY),
            process_backoff: (Duration::from_secs(1), 10 * MINUTE),
            process_tries: 10,
            lock_age: 12 * HOUR,
            idle_timeout: MINUTE,
            total_timeout: 2 * HOUR,
            downloads: 16,
            loads: cores.max(2),
            small_file_bytes: 50 << 20,
            dead_after: 3 * DAY,
            webhook_tries: 12,
            webhook_backoff: (MINUTE, 6 * HOUR),
            max_namespaces: 100,
            uploads_per_hour: 120,
            upload_bytes_per_hour: 32 << 30,
            fetches_per_hour: 60,
            reruns_per_hour: 60,
        }
    }
}

/// The wait before the next try after so many failures.
pub(crate) fn wait((first, most): (Duration, Duration), failures: u32) -> Duration {
    let doubled = first.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX));
    doubled.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most() {
        let waits = Settings::default().fetch_backoff;
        let minutes: Vec<_> = [1, 2, 3, 7, 8, 40, 400].map(|n| wait(waits, n).as_secs() / 60).into();
        assert_eq!(minutes, [15, 30, 60, 960, 1440, 1440, 1440]);
    }
}
