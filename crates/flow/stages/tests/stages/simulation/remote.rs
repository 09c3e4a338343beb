//! Stages of other programs in the histories: one that mirrors offers and is told of its saves, and one that cannot stop.
//! They hang, go away for days, and refuse to be told.

use std::time::Duration;

use async_trait::async_trait;
use stages::stage::{Answer, Failed, Fields, Job, Outcome, Port, StateChange, Timer, Unavailable};
use wire::stages::SavedRun;

use super::cast::{Running, Shared};
use crate::support::{hash, state};

/// Longer than any deadline.
const FOR_EVER: Duration = Duration::from_secs(30);

/// How a program behaves now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mood {
    #[default]
    Well,
    Hangs,
    Away,
    /// It answers, and refuses to be told of saves.
    Refuses,
}

/// `remote` or `spin`.
pub(super) struct Remote {
    pub(super) id: String,
    pub(super) ground: Shared,
}

impl Remote {
    async fn mood(&self) -> Result<Mood, Unavailable> {
        let mood = self.ground.lock().unwrap().mood;
        match mood {
            Mood::Hangs => tokio::time::sleep(FOR_EVER).await,
            Mood::Away => return Err(Unavailable("nobody is there".to_owned())),
            Mood::Well | Mood::Refuses => tokio::time::sleep(Duration::from_millis(1)).await,
        }
        Ok(mood)
    }

    fn outcome(&self, job: &Job<'_>) -> Outcome {
        if self.id == "remote" {
            return Outcome { state: StateChange::Set(hash(job.offer)), ..Outcome::default() };
        }
        let spins = self.ground.lock().unwrap().spins;
        let timer = if spins { Timer::At(job.now) } else { Timer::Clear };
        Outcome { state: StateChange::Set(state("spun")), timer, ..Outcome::default() }
    }
}

#[async_trait]
impl Port for Remote {
    async fn should_process(&self, jobs: &[(Job<'_>, &Fields)]) -> Result<Vec<Answer>, Unavailable> {
        self.mood().await?;
        let answer = |(job, _): &(Job<'_>, &Fields)| match job.state {
            Some(state) if self.id == "remote" && *state == hash(job.offer) => Answer::No,
            _ => Answer::Yes,
        };
        Ok(jobs.iter().map(answer).collect())
    }

    async fn process(&self, jobs: &[Job<'_>]) -> Result<Vec<Result<Outcome, Failed>>, Unavailable> {
        let running = Running::begin(&self.ground, jobs.iter().map(|job| job.offer.id).collect());
        for job in jobs {
            let line = format!("{} {} v{}", self.id, job.offer.id, job.offer.version);
            self.ground.lock().unwrap().trace.push(line);
        }
        self.mood().await?;
        let outcomes = jobs.iter().map(|job| Ok(self.outcome(job))).collect();
        drop(running);
        Ok(outcomes)
    }

    async fn on_saved(&self, run: &SavedRun) -> Result<Result<(), String>, Unavailable> {
        if self.mood().await? == Mood::Refuses {
            return Ok(Err("not that one".to_owned()));
        }
        let offer = run.offer.as_ref().unwrap().id;
        let mut ground = self.ground.lock().unwrap();
        ground.trace.push(format!("told {} {offer} s{}", self.id, run.state_version));
        ground.told.entry((self.id.clone(), offer)).or_default().push(run.state_version);
        Ok(Ok(()))
    }

    async fn probe(&self) -> Result<(), Unavailable> {
        self.mood().await.map(drop)
    }
}
