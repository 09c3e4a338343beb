//! What the calls take and give.

use std::collections::BTreeMap;

use kit::Timestamp;
use offers::changes::printed;
use serde::{Deserialize, Serialize};
use wire::stages::{Saved, StageError, Walk};

use crate::view::{OfferStage, StageView};
use crate::{Failure, Of, Progress};

/// Every stage.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StageList {
    pub items: Vec<StageItem>,
    /// Transactions whose changes were not told to the stages yet, by lane; thousands are not counted one by one.
    pub untold: BTreeMap<String, usize>,
}

/// A stage with what waits for it.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StageItem {
    pub id: String,
    /// Of a stage of another program.
    pub address: Option<String>,
    /// Paths that it is told of; none: every path.
    pub masks: Vec<String>,
    pub saved: String,
    /// Offers that wait in the main lane, and since when the first of them.
    pub waiting: i64,
    pub oldest_at: Option<String>,
    pub timers: i64,
    /// Those whose moment has come, since when the earliest of them, and whether there are more than were counted.
    pub timers_due: usize,
    pub timers_due_since: Option<String>,
    pub timers_due_cut: bool,
    /// Offers that are being run, over all processes.
    pub running: u32,
    /// Runs a second, and how many of them failed, over the last minute and all processes.
    pub runs_per_second: f64,
    pub errors_per_second: f64,
    /// Offers whose last run failed and that are tried again.
    pub failing: i64,
    /// Offers that are not tried any more.
    pub parked: i64,
    /// Offers of which it has still to be told that they were saved, and those where that is not tried any more.
    pub calls: i64,
    pub calls_parked: i64,
    pub paused_at: Option<String>,
    /// It is told of no change because it does not answer or is too far behind.
    pub suspended_at: Option<String>,
    /// It was not told of changes since then, and has not made up for them.
    pub owes_since: Option<String>,
    /// 0: no limit.
    pub calls_per_second: f64,
    pub parallel: u32,
    /// Calls that wait for these limits.
    pub limited: u32,
    /// How long a call may take; 0: the usual.
    pub deadline_ms: u32,
    /// 0: no walk by itself.
    pub traverse_every_hours: u32,
    /// What the program says of itself.
    pub description: Option<String>,
    /// How it is reached by `https`, without its secrets.
    pub tls: Option<TlsItem>,
    /// Calls that failed in a row, in the process where it is worst; since when none has succeeded, and when the next
    /// one is made.
    pub failures_in_a_row: u32,
    pub down_since: Option<String>,
    pub breaker_open_until: Option<String>,
    pub last_error: Option<String>,
    /// The newest first.
    pub last_errors: Vec<StageErrorItem>,
    pub walk: Option<WalkItem>,
}

/// How a stage is reached by `https`.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TlsItem {
    /// A certificate authority of its own vouches for it.
    pub own_ca: bool,
    /// Dvor shows a certificate to it.
    pub client_certificate: bool,
    pub server_name: Option<String>,
}

/// Something that went wrong in a stage.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StageErrorItem {
    pub at: String,
    /// None: the call failed as a whole.
    pub offer_id: Option<String>,
    pub error: String,
    /// How often it came in a row.
    pub times: u32,
}

/// A walk over all offers.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WalkItem {
    pub ordered_at: String,
    /// Only offers changed since then.
    pub since: Option<String>,
    pub done_at: Option<String>,
    pub paused: bool,
    pub offers_per_second: u32,
    pub looked: i64,
    pub asked: i64,
    /// Of 1,024.
    pub shards_left: usize,
    /// About how many offers there are in all, as far as the walk can tell.
    pub offers: Option<i64>,
    /// About how long it still takes.
    pub seconds_left: Option<u64>,
}

/// An offer that a stage failed on.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FailureItem {
    pub offer_id: String,
    /// `run`, or `call`: the stage could not be told of a save, and later ones wait.
    pub what: String,
    pub error: String,
    pub tries: u32,
    pub failed_at: Option<String>,
    /// Since when nothing is tried any more.
    pub parked_at: Option<String>,
    /// When it is tried again.
    pub retry_at: Option<String>,
}

/// How a traversal is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraverseRequest {
    /// 0: the usual rate.
    #[schema(maximum = 1_000_000)]
    pub offers_per_second: u32,
    /// Lets the walk that is under way rest, or go on, in the place of a new one.
    pub pause: Option<bool>,
}

/// What a stage has to do with an offer.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OfferStageItem {
    pub stage: String,
    /// The type of its state; the state itself is the stage's alone.
    pub state_type: Option<String>,
    pub state_bytes: usize,
    pub state_version: i64,
    pub timer_at: Option<String>,
    pub retry_at: Option<String>,
    pub queued_at: Option<String>,
    /// Offers before it in the queue of its shard.
    pub place: Option<usize>,
    pub tries: u32,
    pub error: Option<String>,
    pub parked_at: Option<String>,
    pub owed: bool,
    /// `paused`, `parked`, `breaker`, `lease`, `limit`, `turn`, `retry`, `timer`, `walk`.
    pub waits_for: Option<String>,
}

fn moment(at: i64) -> Option<String> {
    (at != 0).then(|| Timestamp(at).to_string())
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl StageItem {
    pub fn of(view: &StageView, now: Timestamp) -> Self {
        let (row, activity) = (&view.entry.row, &view.activity);
        let saved = Saved::try_from(row.saved).unwrap_or(Saved::None).as_str_name().to_lowercase();
        let last_errors: Vec<_> = activity.errors.iter().map(StageErrorItem::of).collect();
        Self {
            id: view.entry.id.clone(),
            address: some(&row.address),
            masks: row.masks.clone(),
            saved,
            waiting: view.waiting,
            oldest_at: view.oldest_at.map(|at| at.to_string()),
            timers: view.timers,
            timers_due: view.due.rows,
            timers_due_since: view.due_since.map(|at| at.to_string()),
            timers_due_cut: view.due.is_cut,
            running: activity.running,
            runs_per_second: view.runs_per_second(),
            errors_per_second: view.errors_per_second(),
            failing: view.failing,
            parked: view.parked,
            calls: view.calls.waiting,
            calls_parked: view.calls.parked,
            paused_at: moment(row.paused_at),
            suspended_at: moment(row.suspended_at),
            owes_since: moment(row.owes_since),
            calls_per_second: row.calls_per_second,
            parallel: row.parallel,
            deadline_ms: row.deadline_ms,
            description: some(&row.description),
            tls: row.tls.as_ref().map(|tls| TlsItem {
                own_ca: !tls.ca.is_empty(),
                client_certificate: !tls.certificate.is_empty(),
                server_name: some(&tls.server_name),
            }),
            limited: activity.limited,
            traverse_every_hours: row.traverse_every_hours,
            failures_in_a_row: activity.failed_calls,
            down_since: moment(activity.down_since),
            breaker_open_until: view.open_until(now).map(|at| at.to_string()),
            last_error: last_errors.first().map(|last| last.error.clone()),
            last_errors,
            walk: row.walk.map(|walk| WalkItem::of(&walk, view.progress.unwrap_or_default(), now)),
        }
    }
}

impl StageErrorItem {
    fn of(error: &StageError) -> Self {
        Self {
            at: Timestamp(error.at).to_string(),
            offer_id: (error.offer_id != 0).then(|| printed(error.offer_id)),
            error: error.error.clone(),
            times: error.times,
        }
    }
}

impl WalkItem {
    fn of(walk: &Walk, progress: Progress, now: Timestamp) -> Self {
        Self {
            ordered_at: Timestamp(walk.ordered_at).to_string(),
            since: moment(walk.since),
            done_at: moment(walk.done_at),
            paused: walk.paused,
            offers_per_second: walk.per_second,
            looked: progress.looked,
            asked: progress.asked,
            shards_left: progress.shards_left,
            offers: progress.offers,
            seconds_left: progress.time_left(walk, now).map(|left| left.as_secs()),
        }
    }
}

impl From<Failure> for FailureItem {
    fn from(failure: Failure) -> Self {
        Self {
            offer_id: failure.offer.to_string(),
            what: match failure.of {
                Of::Run => "run".to_owned(),
                Of::Call => "call".to_owned(),
            },
            error: failure.error,
            tries: failure.tries,
            failed_at: moment(failure.failed_at.0),
            parked_at: failure.parked_at.map(|at| at.to_string()),
            retry_at: failure.retry_at.map(|at| at.to_string()),
        }
    }
}

impl From<OfferStage> for OfferStageItem {
    fn from(found: OfferStage) -> Self {
        let pair = found.pair;
        Self {
            stage: found.stage,
            state_type: pair.state.as_ref().map(|state| state.type_url.clone()),
            state_bytes: pair.state.as_ref().map_or(0, |state| state.value.len()),
            state_version: if pair.state.is_some() { pair.state_version } else { 0 },
            timer_at: moment(pair.timer_at),
            retry_at: moment(pair.retry_at),
            queued_at: moment(pair.queued_at),
            place: found.place,
            tries: pair.tries,
            error: some(&pair.error),
            parked_at: moment(pair.parked_at),
            owed: found.is_owed,
            waits_for: found.why.map(|why| why.name().to_owned()),
        }
    }
}

/// Where the next page of failures begins.
pub(super) fn cursor(failures: &[Failure], limit: usize) -> Option<String> {
    // An offer may have two failures, and stands with both on one page.
    failures.last().filter(|_| failures.len() >= limit).map(|last| printed(last.offer.raw()))
}
