//! What a program of others says, made into what the scheduler takes. Nothing of it is trusted: every answer names the offer
//! it is for, and whatever it may not say is a failure of that offer alone.

use std::ops::Range;

use kit::Timestamp;
use prost::Message as _;
use wire::stages::outcome::{State as WireState, Update as WireUpdate};
use wire::stages::{self as wired, timer, wanted};

use crate::stage::{Answer, Failed, Fields, Job, Outcome, StateChange, Timer, Update};

/// Programs in other languages take messages of 4 MB unless told otherwise; so a call has less.
const MAX_CALL_BYTES: usize = 2 << 20;
/// Paths that a patch may name.
const MAX_PATHS: usize = 500;
/// The end of the year 2199: no timer lies behind it.
const MAX_MOMENT: i64 = 7_258_118_400_000_000;

/// Items that go into one call, each at most so large together.
pub(super) fn calls(sizes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let (mut calls, mut begin, mut bytes, mut end) = (Vec::new(), 0, 0, 0);
    for size in sizes {
        if end > begin && bytes + size > MAX_CALL_BYTES {
            calls.push(begin..end);
            (begin, bytes) = (end, 0);
        }
        bytes += size;
        end += 1;
    }
    if end > begin {
        calls.push(begin..end);
    }
    calls
}

pub(super) fn size(job: &Job<'_>) -> usize {
    job.offer.encoded_len() + job.state.map_or(0, prost::Message::encoded_len)
}

pub(super) fn question(job: &Job<'_>, changed: &Fields) -> wired::Question {
    let (whole, changed) = match changed {
        Fields::Whole => (true, Vec::new()),
        Fields::Paths(paths) => (false, paths.iter().cloned().collect()),
    };
    wired::Question { offer: Some(job.offer.clone()), state: job.state.cloned(), whole, changed }
}

pub(super) fn wire_job(job: &Job<'_>) -> wired::Job {
    wired::Job { offer: Some(job.offer.clone()), state: job.state.cloned() }
}

/// Whether the answers are for these offers, one for each.
pub(super) fn check_order(
    asked: impl ExactSizeIterator<Item = i64>,
    answered: impl ExactSizeIterator<Item = i64>,
) -> Result<(), String> {
    if asked.len() != answered.len() {
        return Err(format!("{} answers to {} items", answered.len(), asked.len()));
    }
    match asked.zip(answered).find(|(asked, answered)| asked != answered) {
        Some((asked, answered)) => Err(format!("an answer for the offer {answered} stands at {asked}")),
        None => Ok(()),
    }
}

/// What it wants; who says nothing that can be understood is run and says there what is wrong.
pub(super) fn answer(wanted: &wired::Wanted) -> Answer {
    match wanted::Kind::try_from(wanted.kind) {
        Ok(wanted::Kind::No) => Answer::No,
        Ok(wanted::Kind::Clear) => Answer::Clear,
        Ok(wanted::Kind::At) => moment(wanted.at).map_or(Answer::Yes, Answer::At),
        Ok(wanted::Kind::Yes) | Err(_) => Answer::Yes,
    }
}

pub(super) fn outcome(job: &Job<'_>, said: wired::Outcome) -> Result<Outcome, Failed> {
    if !said.error.is_empty() {
        return Err(Failed { error: said.error, is_final: said.r#final });
    }
    if said.r#final {
        return Err(Failed { error: "the stage gave no reason".to_owned(), is_final: true });
    }
    let state = match said.state {
        Some(WireState::NewState(state)) => StateChange::Set(state),
        Some(WireState::ClearState(true)) => StateChange::Clear,
        Some(WireState::ClearState(false)) | None => StateChange::Keep,
    };
    let update = said.update.map(|said| update(job, said)).transpose()?.unwrap_or_default();
    Ok(Outcome { update, state, timer: timer(said.timer)?, photos_again: Vec::new(), messages: Vec::new() })
}

fn update(job: &Job<'_>, said: WireUpdate) -> Result<Update, String> {
    match said {
        WireUpdate::Patch(patch) => {
            if patch.paths.len() > MAX_PATHS {
                return Err(format!("a patch names at most {MAX_PATHS} paths"));
            }
            let values = patch.values.ok_or("a patch without values")?;
            Ok(Update::Patch { offer: Box::new(values), paths: patch.paths })
        }
        WireUpdate::Offer(offer) if offer.id != job.offer.id => {
            Err(format!("the new offer has the id {}, not {}", offer.id, job.offer.id))
        }
        WireUpdate::Offer(offer) if offer.content.is_none() => Err("the new offer has no content".to_owned()),
        WireUpdate::Offer(offer) => Ok(Update::Offer(Box::new(offer))),
    }
}

fn timer(said: Option<wired::Timer>) -> Result<Timer, String> {
    let said = said.unwrap_or_default();
    match timer::Kind::try_from(said.kind) {
        Ok(timer::Kind::Keep) => Ok(Timer::Keep),
        Ok(timer::Kind::Clear) => Ok(Timer::Clear),
        Ok(timer::Kind::At) => {
            moment(said.at).map(Timer::At).ok_or_else(|| format!("a timer cannot be set to {}", said.at))
        }
        Err(_) => Err(format!("there is no kind {} of timers", said.kind)),
    }
}

fn moment(at: i64) -> Option<Timestamp> {
    (1..=MAX_MOMENT).contains(&at).then_some(Timestamp(at))
}

#[cfg(test)]
mod tests {
    use model::{Content, Offer};

    use super::*;

    #[test]
    fn calls_are_small_enough_for_anybody() {
        let megabyte = 1 << 20;
        assert_eq!(calls([10, 20, 30].into_iter()), std::slice::from_ref(&(0..3)));
        assert_eq!(calls([megabyte; 5].into_iter()), [0..2, 2..4, 4..5]);
        assert_eq!(calls([5 * megabyte, 1].into_iter()), [0..1, 1..2], "what is too large goes alone");
        assert!(calls([].into_iter()).is_empty());
    }

    #[test]
    fn answers_are_for_the_offers_that_were_asked_about() {
        let check = |answered: &[i64]| check_order([7, 8].into_iter(), answered.iter().copied());
        check(&[7, 8]).unwrap();
        assert_eq!(check(&[7]).unwrap_err(), "1 answers to 2 items");
        assert_eq!(check(&[7, 8, 9]).unwrap_err(), "3 answers to 2 items");
        assert_eq!(check(&[8, 7]).unwrap_err(), "an answer for the offer 8 stands at 7");
    }

    #[test]
    fn what_may_not_be_said_fails() {
        let offer = Offer { id: 7, content: Some(Content::default()), ..Offer::default() };
        let job = Job { offer: &offer, state: None, now: Timestamp(5), lane: offers::stages::Lane::Main };
        let fails = |said: wired::Outcome| outcome(&job, said).unwrap_err().error;
        let with = |update| wired::Outcome { update: Some(update), ..wired::Outcome::default() };
        let other = Offer { id: 8, ..offer.clone() };
        assert!(fails(with(WireUpdate::Offer(other))).contains("has the id 8"));
        let bare = Offer { content: None, ..offer.clone() };
        assert!(fails(with(WireUpdate::Offer(bare))).contains("no content"));
        let patch = wired::Patch { paths: vec!["title".to_owned()], values: None };
        assert!(fails(with(WireUpdate::Patch(patch))).contains("without values"));
        let many = wired::Patch { paths: vec![String::new(); 501], values: Some(offer.clone()) };
        assert!(fails(with(WireUpdate::Patch(many))).contains("at most 500"));
        for (kind, at) in [(2, 0), (2, -5), (2, i64::MAX), (9, 1)] {
            let timer = Some(wired::Timer { kind, at });
            assert!(fails(wired::Outcome { timer, ..wired::Outcome::default() }).contains("timer"));
        }
        let given_up = wired::Outcome { r#final: true, ..wired::Outcome::default() };
        assert!(outcome(&job, given_up).unwrap_err().is_final);
        assert_eq!(outcome(&job, wired::Outcome::default()).unwrap(), Outcome::default());
    }

    #[test]
    fn a_wish_that_cannot_be_understood_is_a_run() {
        let answer = |kind, at| answer(&wired::Wanted { offer_id: 1, kind, at });
        assert_eq!(answer(0, 0), Answer::No);
        assert_eq!(answer(2, 9), Answer::At(Timestamp(9)));
        assert_eq!((answer(2, -1), answer(77, 0)), (Answer::Yes, Answer::Yes));
    }
}
