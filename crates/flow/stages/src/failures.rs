//! Pairs that failed: listed, tried again, given up. And states that are read and written from outside.
//!
//! Those that are not tried any more are in table `parked`, those that are in `failing`; a page of a list is a scan of the
//! table's head, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use kit::Timestamp;
use model::OfferId;
use offers::read::shard_of;
use offers::stages::Pairs;
use offers::stages::callers::Callers;
use offers::stages::tables::{CALLERS, CALLS, CALLS_PARKED, FAILING, PAIRS, PARKED};
use store::{Range, Read as _, Table, Tx};
use topics::failures::debts::{Judge, PAGE, judge_all};
use web::Verdict;
use wire::Any;
use wire::stages::{CallerRow, PairRow};

use crate::turns::BATCH;
use crate::wishes::head;
use crate::{Error, Result, Stages, pair, saved, state};

/// Rows of a shard that a list reads at a time, at least.
const ROWS: usize = 16;

/// Whether a pair that failed is tried again by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureState {
    #[default]
    Parked,
    Failing,
}

impl FailureState {
    pub const ALL: [Self; 2] = [Self::Parked, Self::Failing];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Parked => "parked",
            Self::Failing => "failing",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Where the runs, and the calls after saves, stand that are in this state.
    const fn tables(self) -> &'static [&'static Table<(String, i64), ()>] {
        match self {
            Self::Parked => &[&PARKED, &CALLS_PARKED],
            Self::Failing => &[&FAILING],
        }
    }
}

/// A pair that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub offer: OfferId,
    pub error: String,
    pub tries: u32,
    pub failed_at: Timestamp,
    /// Since when nothing is tried any more.
    pub parked_at: Option<Timestamp>,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
    pub of: Of,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A run.
    Run,
    /// Telling the stage of a save; those after it wait.
    Call,
}

impl Stages {
    /// Parked pairs of a stage behind this one, in the order of shards and ids.
    pub async fn failures(&self, stage: &str, after: Option<OfferId>, limit: usize) -> Result<Vec<Failure>> {
        self.failures_in(stage, FailureState::Parked, after, limit).await
    }

    /// The same of pairs in either state.
    pub async fn failures_in(
        &self,
        stage: &str,
        state: FailureState,
        after: Option<OfferId>,
        limit: usize,
    ) -> Result<Vec<Failure>> {
        self.require(stage)?;
        let range = Range::prefix((stage,), limit.div_ceil(8).max(ROWS))?;
        let store = &self.offers.store;
        // The offers that come first, whatever failed of them: a page never ends between two failures of one.
        let mut ids = BTreeSet::new();
        for &table in state.tables() {
            let rest = match after {
                Some(after) => Some((shard_of(after), range.clone().after((stage, after.raw()))?)),
                None => None,
            };
            let pick = |(_, offer): (String, i64), ()| OfferId::from_raw(offer);
            ids.extend(store.scan_after(table, &range, rest, limit, pick).await?);
        }
        let ids: Vec<_> = ids.into_iter().take(limit).collect();
        let keys = || ids.iter().map(|id| (shard_of(*id), (id.raw(), stage)));
        let pairs = store.get_many(&PAIRS, keys()).await?;
        let callers = store.get_many(&CALLERS, keys()).await?;
        let mut found = Vec::new();
        for ((id, pair), caller) in ids.iter().zip(pairs).zip(callers) {
            // What was judged since is no failure any more.
            found.extend(pair.and_then(|pair| run_failure(*id, pair, state)));
            found.extend(caller.and_then(|caller| call_failure(*id, caller, state)));
        }
        Ok(found)
    }

    /// Tries a parked or failed pair again, or gives it up. `false`: it is neither.
    pub async fn judge(&self, stage: &str, offer: OfferId, verdict: Verdict) -> Result<bool> {
        self.require(stage)?;
        let judge = async |tx: &mut Tx| self.judge_in(tx, stage, &[offer.raw()], (verdict, 0)).await;
        Ok(self.offers.store.transact(shard_of(offer), judge).await? > 0)
    }

    /// The same for all parked pairs of a stage; says how many.
    pub async fn judge_all(&self, stage: &str, verdict: Verdict) -> Result<usize> {
        self.judge_all_in(stage, FailureState::Parked, verdict).await
    }

    /// The same for all pairs in either state. Ended half-way, it goes on when it is called again.
    pub async fn judge_all_in(&self, stage: &str, state: FailureState, verdict: Verdict) -> Result<usize> {
        self.require(stage)?;
        let (range, judge) = (Range::prefix((stage,), PAGE)?, Judging { stages: self, stage, verdict });
        judge_all(&self.offers.store, state.tables(), None, &range, &judge).await
    }

    /// Those that are tried again stand in the queue as one seller's would, behind so many that were judged before.
    async fn judge_in(
        &self,
        tx: &mut Tx,
        stage: &str,
        offers: &[i64],
        (verdict, judged_before): (Verdict, usize),
    ) -> Result<usize> {
        let now = self.offers.clock.now();
        let stored = tx.get_many(&PAIRS, offers.iter().map(|offer| (*offer, stage))).await?;
        let head = head(tx, stage).await?.unwrap_or(0);
        let (mut pairs, mut judged) = (Pairs::default(), 0);
        for (offer, before) in offers.iter().zip(stored) {
            let Some(before) = before.filter(|pair| pair.parked_at != 0 || pair.tries > 0) else { continue };
            let turn = head + ((judged_before + judged) / BATCH) as i64;
            let after = match verdict {
                Verdict::Retry => pair::retried(&before, now, turn),
                Verdict::Drop => pair::dropped(&before),
            };
            self.memory.changed_outside(stage, *offer);
            pairs.keep(tx, (*offer, stage), Some(&before), &after)?;
            judged += 1;
        }
        pairs.finish(tx).await?;
        Ok(judged + self.judge_calls(tx, stage, offers, verdict).await?)
    }

    /// A call that is dropped makes way for those behind it.
    async fn judge_calls(&self, tx: &mut Tx, stage: &str, offers: &[i64], verdict: Verdict) -> Result<usize> {
        let now = self.offers.clock.now();
        let stored = tx.get_many(&CALLERS, offers.iter().map(|offer| (*offer, stage))).await?;
        let (mut callers, mut judged) = (Callers::default(), 0);
        for (offer, before) in offers.iter().zip(stored) {
            let Some(before) = before.filter(|caller| caller.tries > 0) else { continue };
            let after = match verdict {
                Verdict::Retry => saved::again(&before, now),
                Verdict::Drop => {
                    tx.delete(&CALLS, (*offer, stage, before.first))?;
                    saved::next(&before, now)
                }
            };
            callers.keep(tx, (*offer, stage), Some(&before), &after)?;
            judged += 1;
        }
        callers.finish(tx).await?;
        Ok(judged)
    }

    /// The state that a stage keeps beside an offer, with its version; none has the version 0.
    pub async fn read_state(&self, stage: &str, offer: OfferId) -> Result<(Option<Any>, i64)> {
        self.require(stage)?;
        state::read(&self.offers, stage, offer).await
    }

    /// Writes a state if it still has this version, and lets the stage run. `false`: it has another one.
    pub async fn update_state(&self, stage: &str, offer: OfferId, state: Any, expected: i64) -> Result<bool> {
        self.require(stage)?;
        state::update(&self.offers, stage, offer, state, expected).await
    }

    /// Whether this process knows a stage of this name.
    pub(crate) fn knows(&self, stage: &str) -> bool {
        self.directory.entry(stage).is_some()
    }

    fn require(&self, stage: &str) -> Result<()> {
        match self.directory.entry(stage).filter(|entry| entry.row.removed_at == 0) {
            Some(_) => Ok(()),
            None => Err(Error::NoStage(stage.to_owned())),
        }
    }
}

struct Judging<'a> {
    stages: &'a Stages,
    stage: &'a str,
    verdict: Verdict,
}

#[async_trait]
impl Judge<(String, i64), ()> for Judging<'_> {
    type Error = Error;

    async fn judge(&self, tx: &mut Tx, rows: BTreeMap<(String, i64), ()>, before: usize) -> Result<usize> {
        let offers: Vec<_> = rows.into_keys().map(|(_, offer)| offer).collect();
        self.stages.judge_in(tx, self.stage, &offers, (self.verdict, before)).await
    }
}

fn moment(at: i64) -> Option<Timestamp> {
    (at != 0).then_some(Timestamp(at))
}

fn run_failure(offer: OfferId, pair: PairRow, state: FailureState) -> Option<Failure> {
    let is_one = match state {
        FailureState::Parked => pair.parked_at != 0,
        FailureState::Failing => pair.parked_at == 0 && pair.tries > 0,
    };
    is_one.then(|| Failure {
        offer,
        error: pair.error,
        tries: pair.tries,
        failed_at: Timestamp(pair.failed_at),
        parked_at: moment(pair.parked_at),
        retry_at: moment(pair.retry_at),
        of: Of::Run,
    })
}

fn call_failure(offer: OfferId, caller: CallerRow, state: FailureState) -> Option<Failure> {
    let is_one = state == FailureState::Parked && caller.parked_at != 0;
    is_one.then(|| Failure {
        offer,
        error: caller.error,
        tries: caller.tries,
        failed_at: Timestamp(caller.failed_at),
        parked_at: moment(caller.parked_at),
        retry_at: None,
        of: Of::Call,
    })
}
