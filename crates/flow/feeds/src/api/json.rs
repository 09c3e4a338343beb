//! Feeds, loads and errors as clients see them.

use std::collections::BTreeMap;

use kit::Timestamp;
use model::{Language, OfferId, message};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wire::feeds::{OnMissing, Outcome, Statistics, Task, TaskError};

use crate::check::level_name;
use crate::errors::Found;
use crate::history::{FeedView, Load, sentence};
use crate::report::type_name;
use crate::statistics;
use crate::tasks::{source_name, status_name};

/// What happens to offers that a load no longer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    Delete,
    MakeManual,
}

impl From<Missing> for OnMissing {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Delete => Self::Delete,
            Missing::MakeManual => Self::MakeManual,
        }
    }
}

/// A feed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FeedItem {
    pub namespace: String,
    pub version: i64,
    pub paused: bool,
    /// Without user, password and what the query says; null: files are uploaded.
    pub url: Option<String>,
    pub period_minutes: i64,
    pub on_missing: Missing,
    /// 0: no guard.
    pub guard_percent: u32,
    pub webhook_url: Option<String>,
    /// Of offers that do not say it themselves.
    pub currency: Option<String>,
    pub address: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    pub last_task_id: Option<String>,
    pub last_succeeded_task_id: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_fetched_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next_fetch_at: Option<Timestamp>,
    /// Downloads that failed since the last good one, and why the last did.
    pub failures: u32,
    pub error: Option<LoadError>,
    /// Only in the answer to the call that set it: signs the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<String>,
}

fn filled(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn moment(micros: i64) -> Option<Timestamp> {
    (micros != 0).then_some(Timestamp(micros))
}

fn id(number: i64) -> Option<String> {
    (number != 0).then(|| number.to_string())
}

impl FeedItem {
    pub fn of(view: &FeedView, language: Language) -> Self {
        let (feed, loader) = (&view.feed, view.loader.clone().unwrap_or_default());
        let settings = feed.settings.clone().unwrap_or_default();
        let manual = settings.on_missing() == OnMissing::MakeManual;
        Self {
            namespace: view.key.namespace.clone(),
            version: feed.version,
            paused: feed.paused,
            url: filled(&settings.url).map(|url| fetch::shown(&url)),
            period_minutes: settings.period_minutes,
            on_missing: if manual { Missing::MakeManual } else { Missing::Delete },
            guard_percent: settings.guard_percent,
            webhook_url: filled(&settings.webhook_url).map(|url| fetch::shown(&url)),
            currency: filled(&settings.currency),
            address: filled(&settings.address),
            created_at: Timestamp(feed.created_at),
            updated_at: Timestamp(feed.updated_at),
            last_task_id: id(feed.last_task_id),
            last_succeeded_task_id: id(feed.last_succeeded_task_id),
            last_fetched_at: moment(loader.last_fetched_at),
            next_fetch_at: moment(loader.next_fetch_at),
            failures: loader.failures,
            error: loader.error.map(|error| LoadError::of(&error, language)),
            webhook_secret: None,
        }
    }
}

/// A load that was made.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NewLoad {
    pub task_id: String,
}

/// One load of a feed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LoadItem {
    pub task_id: String,
    /// queued, in_progress, needs_confirmation, succeeded, partial, failed, unchanged, rejected or cancelled.
    pub status: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
    /// upload, url, parsed, rerun, follow_up or removal.
    pub source: String,
    pub source_name: String,
    pub dry_run: bool,
    /// Downloads in a row that this row stands for.
    pub repeats: i64,
    /// The load that this one repeats.
    pub repeats_task_id: Option<String>,
    pub progress: ProgressItem,
    pub statistics: StatisticsItem,
    pub error: Option<LoadError>,
    /// Why a person is asked.
    pub held: Option<HeldItem>,
    /// Of a dry run: examples of what would change.
    pub samples: Vec<SampleItem>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProgressItem {
    pub bytes_read: i64,
    pub bytes_total: i64,
    pub offers: i64,
    pub batches_sent: i64,
    pub batches_acknowledged: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatisticsItem {
    /// Offers of the file whose outcome is known.
    pub total: i64,
    pub created: i64,
    pub updated: i64,
    pub unchanged: i64,
    pub deleted: i64,
    pub made_manual: i64,
    pub rejected: i64,
    pub banned: i64,
    pub duplicate: i64,
    pub skipped: i64,
    pub stale: i64,
    pub errors: i64,
    pub warnings: i64,
    pub by_type: BTreeMap<String, i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LoadError {
    pub code: String,
    pub message: String,
    pub line: Option<i64>,
    pub column: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HeldItem {
    pub would_go: i64,
    pub live_before: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SampleItem {
    pub external_id: String,
    pub title: String,
    pub outcome: String,
    pub differences: Vec<DifferenceItem>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DifferenceItem {
    pub path: String,
    pub from: String,
    pub to: String,
}

impl LoadError {
    fn of(error: &TaskError, language: Language) -> Self {
        let place = |number: i64| (number > 0).then_some(number);
        Self {
            code: error.code.clone(),
            message: sentence(error, language),
            line: place(error.line),
            column: place(error.column),
        }
    }
}

impl LoadItem {
    pub fn of(load: &Load, language: Language) -> Self {
        let Task { progress, held, error, .. } = &load.task;
        let progress = progress.unwrap_or_default();
        Self {
            task_id: load.task_id.to_string(),
            status: status_name(load.task.status()).to_owned(),
            created_at: Timestamp(load.task.created_at),
            updated_at: Timestamp(load.task.updated_at),
            finished_at: moment(load.task.finished_at),
            source: source_name(load.task.source()).to_owned(),
            source_name: load.task.source_name.clone(),
            dry_run: load.task.dry_run,
            repeats: load.task.repeats,
            repeats_task_id: id(load.task.repeats_task_id),
            progress: ProgressItem {
                bytes_read: progress.bytes_read,
                bytes_total: progress.bytes_total,
                offers: progress.offers,
                batches_sent: progress.batches_sent,
                batches_acknowledged: progress.batches_acknowledged,
            },
            statistics: StatisticsItem::of(&load.statistics),
            error: error.as_ref().map(|error| LoadError::of(error, language)),
            held: held.map(|held| HeldItem { would_go: held.would_go, live_before: held.live_before }),
            samples: samples(&load.statistics),
        }
    }
}

impl StatisticsItem {
    fn of(found: &Statistics) -> Self {
        let tally = found.tally.unwrap_or_default();
        Self {
            total: statistics::total(found),
            created: tally.created,
            updated: tally.updated,
            unchanged: tally.unchanged,
            deleted: tally.deleted,
            made_manual: tally.made_manual,
            rejected: tally.rejected,
            banned: tally.banned,
            duplicate: tally.duplicate,
            skipped: tally.skipped,
            stale: tally.stale,
            errors: found.errors,
            warnings: found.warnings,
            by_type: found.by_type.clone().into_iter().collect(),
        }
    }
}

fn samples(found: &Statistics) -> Vec<SampleItem> {
    let difference = |difference: &wire::feeds::Difference| DifferenceItem {
        path: difference.path.clone(),
        from: difference.from.clone(),
        to: difference.to.clone(),
    };
    let sample = |record: &wire::feeds::RecordResult| SampleItem {
        external_id: record.external_id.clone(),
        title: record.title.clone(),
        outcome: outcome_name(record.outcome()).to_owned(),
        differences: record.differences.iter().map(difference).collect(),
    };
    found.samples.iter().map(sample).collect()
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unspecified => "unknown",
        Outcome::Created => "created",
        Outcome::Updated => "updated",
        Outcome::Unchanged => "unchanged",
        Outcome::Rejected => "rejected",
        Outcome::Banned => "banned",
        Outcome::Duplicate => "duplicate",
        Outcome::Skipped => "skipped",
        Outcome::Stale => "stale",
    }
}

/// What is wrong with one offer of a load.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorItem {
    pub external_id: String,
    pub offer_id: Option<String>,
    pub title: String,
    /// error or warning.
    pub level: String,
    /// validation, category, attribute, geo, banned, duplicate or photo.
    #[serde(rename = "type")]
    pub kind: String,
    pub code: String,
    pub field: String,
    pub value: String,
    pub line: i64,
    pub message: String,
    pub suggestion: Option<String>,
}

impl ErrorItem {
    pub fn of(found: Found, language: Language) -> Self {
        let issue = found.error.issue.unwrap_or_default();
        Self {
            external_id: found.external_id,
            offer_id: OfferId::from_raw(found.error.offer_id)
                .filter(|_| found.error.offer_id != 0)
                .map(|id| id.to_string()),
            title: found.error.title,
            level: level_name(issue.level).to_owned(),
            kind: type_name(issue.r#type()).to_owned(),
            message: message::render(&issue, language),
            line: found.error.line,
            suggestion: filled(&issue.suggestion),
            code: issue.code,
            field: issue.field,
            value: issue.value,
        }
    }
}
