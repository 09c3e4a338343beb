//! What a stage is: the contract, and how the scheduler reaches one.
//!
//! [`Stage`] is what the author of a stage in this program writes: plain functions over one offer. [`Port`] is what the
//! scheduler speaks to, in batches; [`Local`] makes a stage a port and keeps its panics from the scheduler.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use async_trait::async_trait;
use futures::FutureExt as _;
use kit::Timestamp;
use model::Offer;
use offers::stages::{Lane, meets};
use topics::Message;
use wire::Any;
use wire::stages::SavedRun;

/// Which fields of the offer changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fields {
    /// The offer is new, or is looked at as if it were.
    Whole,
    Paths(BTreeSet<String>),
}

impl Fields {
    /// Whether a stage with these masks cares.
    pub fn meet(&self, masks: &[String]) -> bool {
        match self {
            Self::Whole => true,
            Self::Paths(paths) => paths.iter().any(|path| meets(masks, path)),
        }
    }

    pub fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Paths(mine), Self::Paths(others)) => mine.extend(others),
            _ => *self = Self::Whole,
        }
    }
}

/// An offer as a stage sees it.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    pub offer: &'a Offer,
    pub state: Option<&'a Any>,
    pub now: Timestamp,
    /// Of the change or of the run.
    pub lane: Lane,
}

/// Whether a stage wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    No,
    Yes,
    /// At this moment, in the place of a timer that may be there.
    At(Timestamp),
    /// Not now, and a timer that may be there is void.
    Clear,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Update {
    #[default]
    Nothing,
    /// These paths of the offer become what they are in this one.
    Patch { offer: Box<Offer>, paths: Vec<String> },
    /// What differs from the offer that was handed out.
    Offer(Box<Offer>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum StateChange {
    #[default]
    Keep,
    Clear,
    Set(Any),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timer {
    /// One that lies ahead stays; the one that caused this run is over.
    #[default]
    Keep,
    Clear,
    At(Timestamp),
}

/// What a run wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub update: Update,
    pub state: StateChange,
    pub timer: Timer,
    /// Photos to be asked for once more, in the transaction that saves the run. For stages of this program.
    pub photos_again: Vec<String>,
    /// Messages with their topics, sent in the transaction that saves the run. For stages of this program.
    pub messages: Vec<(&'static str, Message)>,
}

/// A stage of this program.
#[async_trait]
pub trait Stage: Send + Sync + 'static {
    /// What [`Self::prepare`] reads for a batch.
    type Prepared: Send + Sync;

    /// Whether the offer should be run after these fields changed. Fast, no I/O. A run can come without it, so
    /// [`Self::process`] checks for itself.
    fn should_process(&self, job: &Job<'_>, changed: &Fields) -> Answer;

    /// Reads what the runs of a batch need beside their offers.
    async fn prepare(&self, offers: &[&Offer]) -> Result<Self::Prepared, String>;

    /// Pure: it may be called again for the same input, and what it says may never be saved.
    fn process(&self, job: &Job<'_>, prepared: &Self::Prepared) -> Result<Outcome, String>;

    /// After the run was saved, at least once, in order per offer. Side effects go here.
    async fn on_saved(&self, offer: &Offer, state: Option<&Any>) -> Result<(), String> {
        let _ = (offer, state);
        Ok(())
    }
}

/// The stage could not be asked at all: no run of it counts as tried.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// A run of one offer failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    pub error: String,
    /// The stage says that trying again is of no use.
    pub is_final: bool,
}

impl From<String> for Failed {
    fn from(error: String) -> Self {
        Self { error, is_final: false }
    }
}

/// How the scheduler speaks to a stage. Answers come in the order of what was asked.
#[async_trait]
pub trait Port: Send + Sync {
    async fn should_process(&self, jobs: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Unavailable>;

    async fn process(&self, jobs: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Unavailable>;

    /// After a run was saved; the inner error says that this one call failed.
    async fn on_saved(&self, run: &SavedRun) -> Result<Result<(), String>, Unavailable>;

    /// Whether the stage answers at all.
    async fn probe(&self) -> Result<(), Unavailable> {
        Ok(())
    }
}

/// A stage of this program, as a port.
pub struct Local<S>(pub S);

#[async_trait]
impl<S: Stage> Port for Local<S> {
    async fn should_process(&self, jobs: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Unavailable> {
        // A stage that fails here is run all the same and can say there what is wrong.
        let answer = |(job, changed): &(Job<'_>, &Fields)| {
            guarded(|| self.0.should_process(job, changed)).unwrap_or(Answer::Yes)
        };
        Ok(jobs.iter().map(answer).collect())
    }

    async fn process(&self, jobs: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Unavailable> {
        let offers: Vec<_> = jobs.iter().map(|job| job.offer).collect();
        let prepared = AssertUnwindSafe(self.0.prepare(&offers)).catch_unwind().await;
        match prepared.unwrap_or_else(|panic| Err(told(&*panic))) {
            Ok(prepared) => Ok(jobs
                .iter()
                .map(|job| Ok(guarded(|| self.0.process(job, &prepared)).and_then(|outcome| outcome)?))
                .collect()),
            Err(error) => Err(Unavailable(error)),
        }
    }

    async fn on_saved(&self, run: &SavedRun) -> Result<Result<(), String>, Unavailable> {
        let Some(offer) = &run.offer else { return Ok(Ok(())) };
        let call = AssertUnwindSafe(self.0.on_saved(offer, run.state.as_ref())).catch_unwind().await;
        Ok(call.unwrap_or_else(|panic| Err(told(&*panic))))
    }
}

/// A panic is a failure of the one offer that it happened on.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| told(&*panic))
}

fn told(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the stage panicked: {}", text.unwrap_or("without a word"))
}
