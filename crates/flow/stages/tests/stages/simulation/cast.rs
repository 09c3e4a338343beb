//! The stages of the histories, and what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kit::{Clock, Timestamp};
use model::{Offer, OfferId};
use offers::read::shard_of;
use offers::stages::tables::PAIRS;
use stages::stage::{Answer, Fields, Job, Outcome, Stage, StateChange, Timer, Update};
use store::Store;

use super::remote::Mood;
use crate::support::{hash, state};

/// What all stages of a history share.
#[derive(Default)]
pub(super) struct Ground {
    /// Offers that some stage works on, now.
    pub(super) running: BTreeSet<i64>,
    /// Stages that do not answer.
    pub(super) down: BTreeSet<&'static str>,
    /// The flaky stage fails on these titles' lengths.
    pub(super) broken: bool,
    /// The price that people or a feed gave an offer last.
    pub(super) wanted: BTreeMap<i64, i64>,
    /// How the stages of other programs behave.
    pub(super) mood: Mood,
    /// One of them does not stop by itself.
    pub(super) spins: bool,
    /// By stage and offer: the versions of states that they were told of.
    pub(super) told: BTreeMap<(String, i64), Vec<i64>>,
    pub(super) trace: Vec<String>,
}

pub(super) type Shared = Arc<Mutex<Ground>>;

/// One of the stages; which one is said by its name.
#[derive(Clone)]
pub(super) struct Actress {
    pub(super) id: &'static str,
    pub(super) ground: Shared,
    pub(super) store: Store,
    pub(super) clock: Clock,
}

/// The offers of a batch are worked on as long as this lives.
pub(super) struct Running {
    ids: Vec<i64>,
    ground: Shared,
}

impl Running {
    /// S4: nobody else works on these offers.
    pub(super) fn begin(ground: &Shared, ids: Vec<i64>) -> Self {
        for id in &ids {
            assert!(ground.lock().unwrap().running.insert(*id), "two stages work on one offer");
        }
        Self { ids, ground: ground.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut ground = self.ground.lock().unwrap();
        for id in &self.ids {
            ground.running.remove(id);
        }
    }
}

#[async_trait]
impl Stage for Actress {
    type Prepared = Running;

    fn should_process(&self, job: &Job<'_>, _: &Fields) -> Answer {
        match self.id {
            "mirror" if job.state == Some(&hash(job.offer)) => Answer::No,
            "echo" if weight(job.offer) == price(job.offer) => Answer::No,
            "flaky" if title(job.offer).len().is_multiple_of(3) => Answer::No,
            "remind" => Answer::At(reminder(job.offer)),
            _ => Answer::Yes,
        }
    }

    /// S8: a reminder is not early.
    async fn prepare(&self, offers: &[&Offer]) -> Result<Running, String> {
        let running = Running::begin(&self.ground, offers.iter().map(|offer| offer.id).collect());
        if self.ground.lock().unwrap().down.contains(self.id) {
            return Err("down".to_owned());
        }
        if self.id == "remind" {
            for offer in offers {
                let shard = shard_of(OfferId::from_raw(offer.id).unwrap());
                let pair =
                    self.store.get(&PAIRS, shard, (offer.id, "remind")).await.unwrap().unwrap_or_default();
                let now = self.clock.now().0;
                let is_due = [pair.timer_at, pair.retry_at].iter().any(|at| *at != 0 && *at <= now);
                assert!(is_due || pair.queued_at != 0, "a timer fired early: {pair:?} at {now}");
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(running)
    }

    fn process(&self, job: &Job<'_>, _: &Running) -> Result<Outcome, String> {
        let mut ground = self.ground.lock().unwrap();
        ground.trace.push(format!("{} {} v{}", self.id, job.offer.id, job.offer.version));
        let broken = ground.broken;
        drop(ground);
        Ok(match self.id {
            "mirror" => Outcome { state: StateChange::Set(hash(job.offer)), ..Outcome::default() },
            "echo" => {
                let mut offer = job.offer.clone();
                offer.content.as_mut().unwrap().weight_grams = price(job.offer);
                let paths = vec!["weight_grams".to_owned()];
                Outcome { update: Update::Patch { offer: Box::new(offer), paths }, ..Outcome::default() }
            }
            "flaky" => {
                assert!(!(broken && title(job.offer).len() % 3 == 1), "it panics on purpose");
                if broken {
                    return Err("it fails on purpose".to_owned());
                }
                Outcome { state: StateChange::Set(state("well")), ..Outcome::default() }
            }
            _ => Outcome {
                state: StateChange::Set(state(&job.now.to_string())),
                timer: Timer::Keep,
                ..Outcome::default()
            },
        })
    }
}

pub(super) fn title(offer: &Offer) -> &str {
    &offer.content.as_ref().unwrap().title
}

pub(super) fn price(offer: &Offer) -> i64 {
    offer.content.as_ref().unwrap().price.as_ref().map_or(0, |price| price.minor)
}

pub(super) fn weight(offer: &Offer) -> i64 {
    offer.content.as_ref().unwrap().weight_grams
}

pub(super) fn reminder(offer: &Offer) -> Timestamp {
    Timestamp(offer.status_at).plus(Duration::from_secs(86_400))
}
