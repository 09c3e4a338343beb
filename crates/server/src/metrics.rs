//! What every metric means, in one place: `/metrics` tells it as HELP. `cargo xtask tidy` finds a metric that is not here.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Name, unit and help. The end of the name tells the kind: `_total` counts, `_seconds` is a histogram, else it is a gauge.
const DESCRIPTIONS: &[(&str, Unit, &str)] = &[
    ("dvor_build_info", Unit::Count, "1, with the version of this process"),
    ("dvor_cluster_beats_total", Unit::Count, "Renewals of the process's lease, by outcome"),
    ("dvor_cluster_fenced_total", Unit::Count, "Transactions refused because the work token was lost"),
    ("dvor_cluster_leases_lost_total", Unit::Count, "Leases that ended before they were renewed"),
    ("dvor_cluster_members_live", Unit::Count, "Live processes as this one sees them"),
    ("dvor_cluster_tokens_held", Unit::Count, "Work tokens held, by role"),
    (
        "dvor_cluster_tokens_taken_total",
        Unit::Count,
        "Work tokens taken, free ones and those of dead processes",
    ),
    ("dvor_disk_free_bytes", Unit::Bytes, "Room left on the disk of the data folder"),
    ("dvor_disk_size_bytes", Unit::Bytes, "Size of the disk of the data folder"),
    ("dvor_feeds_batches_sent_total", Unit::Count, "Batches of loads sent to the offers"),
    ("dvor_feeds_fetches_total", Unit::Count, "Downloads of feeds, by outcome"),
    ("dvor_feeds_records_sent_total", Unit::Count, "Records of loads sent to the offers"),
    ("dvor_feeds_tasks_ended_total", Unit::Count, "Loads that ended, by status"),
    ("dvor_feeds_webhooks_total", Unit::Count, "Calls of webhooks, by outcome"),
    ("dvor_files_corrupt_total", Unit::Count, "Files whose bytes are not what their name says"),
    ("dvor_files_deduplicated_bytes_total", Unit::Bytes, "Bytes received that were stored already"),
    ("dvor_files_object_call_seconds", Unit::Seconds, "Calls of the object store"),
    ("dvor_files_object_calls_total", Unit::Count, "Calls of the object store, by operation and result"),
    ("dvor_files_read_bytes_total", Unit::Bytes, "Bytes of files read"),
    ("dvor_files_receive_errors_total", Unit::Count, "Files that were not received whole, by kind of error"),
    ("dvor_files_received_bytes_total", Unit::Bytes, "Bytes of files received"),
    ("dvor_files_swept_references_total", Unit::Count, "References that the sweep asked about, by answer"),
    ("dvor_http_request_seconds", Unit::Seconds, "Answers to HTTP requests"),
    ("dvor_http_requests_total", Unit::Count, "HTTP requests, by method, route and status"),
    ("dvor_photos_downloaded_bytes_total", Unit::Bytes, "Bytes of photos downloaded"),
    ("dvor_photos_failed_total", Unit::Count, "Photos that cannot be had"),
    ("dvor_photos_ready_total", Unit::Count, "Photos that are there"),
    ("dvor_photos_refused_total", Unit::Count, "Images refused, by reason"),
    ("dvor_photos_requests_answered_total", Unit::Count, "Requests for photos answered"),
    ("dvor_process_cpu_used", Unit::Seconds, "Processor time that this process has used, in seconds"),
    ("dvor_process_open_files", Unit::Count, "Open files and connections of this process"),
    ("dvor_process_resident_bytes", Unit::Bytes, "Memory of this process"),
    ("dvor_process_started", Unit::Seconds, "When this process started, in seconds since 1970"),
    ("dvor_process_threads", Unit::Count, "Threads of this process"),
    (
        "dvor_snippets_config_differs",
        Unit::Count,
        "Live processes that serve snippets by another configuration than this one",
    ),
    ("dvor_snippets_messages_total", Unit::Count, "Messages of topics, by section and outcome"),
    ("dvor_snippets_refused_total", Unit::Count, "Documents refused, by section"),
    ("dvor_snippets_reloads_total", Unit::Count, "Reloads of the configuration, by outcome"),
    ("dvor_snippets_retries_total", Unit::Count, "Messages tried again, by section and outcome"),
    (
        "dvor_snippets_superseded_total",
        Unit::Count,
        "Failed messages whose documents were written anew since",
    ),
    ("dvor_snippets_swept_total", Unit::Count, "Expired documents removed"),
    ("dvor_snippets_written_total", Unit::Count, "Documents written or deleted, by section"),
    ("dvor_stages_calls_total", Unit::Count, "Calls of on_saved, by stage and outcome"),
    ("dvor_stages_conflicts_total", Unit::Count, "Runs whose offer changed meanwhile, by stage"),
    ("dvor_stages_failures_total", Unit::Count, "Runs that failed, by stage"),
    ("dvor_stages_loops_total", Unit::Count, "Offers parked because a stage ran on them again and again"),
    ("dvor_stages_runs_total", Unit::Count, "Runs that were saved, by stage and lane"),
    ("dvor_stages_unavailable_total", Unit::Count, "Calls that a stage did not answer"),
    ("dvor_store_commit_seconds", Unit::Seconds, "Commits of groups of transactions"),
    ("dvor_store_commits_total", Unit::Count, "Groups of transactions committed"),
    ("dvor_store_journal_bytes", Unit::Bytes, "Journals on disk"),
    ("dvor_store_l0_tables", Unit::Count, "Tables of the first level, by space"),
    ("dvor_store_sealed_memtables", Unit::Count, "Memtables that wait to be flushed, by space"),
    ("dvor_store_transactions_total", Unit::Count, "Transactions committed"),
    ("dvor_store_write_buffer_bytes", Unit::Bytes, "Rows in memory that are not flushed yet"),
    ("dvor_topics_consumed_total", Unit::Count, "Records given to readers, repeats included"),
    ("dvor_topics_consumer_failures_total", Unit::Count, "Consumers that stopped and started again"),
    ("dvor_topics_dead_letters_total", Unit::Count, "Records that became dead letters"),
    (
        "dvor_topics_gaps_total",
        Unit::Count,
        "Records removed before a group had read them, by topic and group",
    ),
    ("dvor_topics_lag", Unit::Count, "Records not committed yet in the partitions read here"),
    ("dvor_topics_outbox_rows", Unit::Count, "Rows that wait in the outboxes relayed here"),
    ("dvor_topics_published_total", Unit::Count, "Messages appended"),
    ("dvor_topics_relay_failures_total", Unit::Count, "Sends of an outbox that failed and are repeated"),
    ("dvor_topics_removed_total", Unit::Count, "Records removed by retention"),
    (
        "dvor_topics_stopped_total",
        Unit::Count,
        "Partitions stopped at a record that could not be applied yet",
    ),
    ("dvor_topics_went_back_total", Unit::Count, "Partitions read again from where the store had come to"),
    ("dvor_work_pieces_total", Unit::Count, "Pieces of background work, by work and outcome"),
    ("dvor_work_running", Unit::Count, "Pieces of background work under way, by work"),
    ("dvor_work_waiting", Unit::Count, "Pieces of background work that wait for a slot, by work"),
    (
        "dvor_silver_offers_total",
        Unit::Count,
        "Offers that came to a step of the import, by step and outcome",
    ),
    ("dvor_united_flapping_fields", Unit::Count, "Trigger fields that cause too many shipments now"),
    ("dvor_united_shipments_total", Unit::Count, "Offers shipped to the topic united.offers"),
    (
        "dvor_united_triggers_total",
        Unit::Count,
        "Shipments of known offers, by the path of the field that caused them",
    ),
];

/// Tells the recorder what the metrics mean.
pub fn describe() {
    for (name, unit, help) in DESCRIPTIONS {
        if name.ends_with("_total") {
            describe_counter!(*name, *unit, *help);
        } else if name.ends_with("_seconds") {
            describe_histogram!(*name, *unit, *help);
        } else {
            describe_gauge!(*name, *unit, *help);
        }
    }
}
