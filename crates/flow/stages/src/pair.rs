//! What happens to the pair of an offer and a stage: pure steps from one row to the next.

use std::time::Duration;

use kit::Timestamp;
use topics::failures::debts::Patience;
use wire::Any;
use wire::stages::PairRow;

use crate::stage::{Answer, Outcome, StateChange, Timer};

/// Of failed runs and calls.
pub const PATIENCE: Patience =
    Patience { first_wait: Duration::from_secs(1), max_wait: Duration::from_secs(3_600), max_tries: 20 };
/// How long an offer waits on which the stage took too long.
const PUT_OFF: Duration = Duration::from_secs(60);
/// Bytes of an error that are kept.
const MAX_ERROR_BYTES: usize = 1_000;
/// Largest state.
pub const MAX_STATE_BYTES: usize = 64 << 10;

/// Why a pair runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It waits in the main lane.
    Queue,
    /// Its timer or retry of this moment or before is due.
    Moment(i64),
    /// A change in a lane without a queue, or a walk.
    Change,
}

/// The stage answered whether it wants the offer. `turn` is its place in the main lane if it has to wait there.
pub fn asked(pair: &PairRow, answer: Answer, outside: bool, now: Timestamp, turn: i64) -> PairRow {
    let mut after = pair.clone();
    match answer {
        Answer::At(at) => after.timer_at = at.0,
        Answer::Clear => after.timer_at = 0,
        Answer::No | Answer::Yes => {}
    }
    let parked = pair.parked_at != 0;
    let wanted = answer == Answer::Yes || (parked && outside);
    // A run that is to be tried again sees the newest offer anyway; only an outside change hurries it.
    let waits = pair.retry_at != 0 || parked;
    if !wanted || (waits && !outside) {
        return after;
    }
    if waits {
        un_park(&mut after);
    }
    if after.queued_at == 0 {
        (after.queued_at, after.turn) = (now.0, turn);
    }
    after
}

/// The stage is to run soon, outside of the main lane: nothing is lost if that does not happen at once.
pub fn owed(pair: &PairRow, outside: bool, now: Timestamp) -> PairRow {
    let mut after = pair.clone();
    let parked = pair.parked_at != 0;
    if after.queued_at != 0 || (parked && !outside) {
        return after;
    }
    if outside && (parked || pair.retry_at != 0) {
        un_park(&mut after);
    }
    if after.retry_at == 0 {
        after.retry_at = now.0;
    }
    after
}

/// A run succeeded and is saved.
pub fn done(pair: &PairRow, cause: Cause, outcome: &Outcome, now: Timestamp) -> PairRow {
    let mut after = pair.clone();
    (after.queued_at, after.turn) = (0, 0);
    un_park(&mut after);
    use_up(&mut after, cause);
    match outcome.timer {
        Timer::Keep => {}
        Timer::Clear => after.timer_at = 0,
        Timer::At(at) => after.timer_at = at.0,
    }
    match &outcome.state {
        StateChange::Keep => {}
        StateChange::Clear => put_state(&mut after, None, now),
        StateChange::Set(state) => put_state(&mut after, Some(state.clone()), now),
    }
    after
}

/// A run failed. It waits longer each time, and is parked in the end.
pub fn failed(pair: &PairRow, cause: Cause, error: &str, now: Timestamp, offer: i64) -> PairRow {
    let mut after = pair.clone();
    (after.queued_at, after.turn) = (0, 0);
    use_up(&mut after, cause);
    after.tries += 1;
    if PATIENCE.is_over(after.tries) {
        return parked(&after, error, now);
    }
    after.retry_at = now.plus(wait(after.tries, offer)).0;
    shortened(error).clone_into(&mut after.error);
    after.failed_at = now.0;
    after
}

/// A run alone took too long, which may be the stage's fault or the offer's: others go first, and no try is counted.
pub fn put_off(pair: &PairRow, cause: Cause, now: Timestamp) -> PairRow {
    let mut after = pair.clone();
    (after.queued_at, after.turn) = (0, 0);
    use_up(&mut after, cause);
    after.retry_at = now.plus(PUT_OFF).0;
    after
}

/// Nothing is tried any more until an outside change comes, or a person.
pub fn parked(pair: &PairRow, error: &str, now: Timestamp) -> PairRow {
    let mut after = pair.clone();
    (after.queued_at, after.turn, after.retry_at) = (0, 0, 0);
    shortened(error).clone_into(&mut after.error);
    (after.failed_at, after.parked_at) = (now.0, now.0);
    after
}

/// A person wants it tried again.
pub fn retried(pair: &PairRow, now: Timestamp, turn: i64) -> PairRow {
    let mut after = pair.clone();
    un_park(&mut after);
    if after.queued_at == 0 {
        (after.queued_at, after.turn) = (now.0, turn);
    }
    after
}

/// A person gives the failed run up; state and timer stay.
pub fn dropped(pair: &PairRow) -> PairRow {
    let mut after = pair.clone();
    un_park(&mut after);
    after
}

/// Writes a state from outside; the stage is asked to run by its queue.
pub fn put_state(pair: &mut PairRow, state: Option<Any>, now: Timestamp) {
    if pair.state == state {
        return;
    }
    pair.state = state;
    pair.state_version = if pair.state_version == 0 { now.0 } else { pair.state_version + 1 };
}

fn un_park(pair: &mut PairRow) {
    (pair.retry_at, pair.tries, pair.parked_at, pair.failed_at) = (0, 0, 0, 0);
    pair.error.clear();
}

/// The moment that caused a run is over, whatever comes of it.
fn use_up(pair: &mut PairRow, cause: Cause) {
    if let Cause::Moment(at) = cause {
        if pair.timer_at != 0 && pair.timer_at <= at {
            pair.timer_at = 0;
        }
        pair.retry_at = 0;
    }
}

/// Doubles from a second to an hour, shortened by up to a quarter so that offers which failed together come back apart.
pub(crate) fn wait(tries: u32, offer: i64) -> Duration {
    let spread = (offer.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) as u64 >> 40) as f64;
    PATIENCE.wait(tries).mul_f64(1.0 - 0.25 * spread / f64::from(1 << 24))
}

/// The beginning of an error, as it is kept.
pub(crate) fn cut(error: &str) -> String {
    shortened(error).to_owned()
}

/// As much of an error as is kept.
pub(crate) fn shortened(error: &str) -> &str {
    let mut end = MAX_ERROR_BYTES.min(error.len());
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    &error[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000);

    fn waiting() -> PairRow {
        asked(&PairRow::default(), Answer::Yes, true, NOW, 7)
    }

    #[test]
    fn an_offer_waits_for_a_stage_at_most_once() {
        let pair = waiting();
        assert_eq!((pair.queued_at, pair.turn), (NOW.0, 7));
        assert_eq!(asked(&pair, Answer::Yes, true, Timestamp(NOW.0 + 5), 9), pair);
        assert_eq!(asked(&PairRow::default(), Answer::No, true, NOW, 7), PairRow::default());
    }

    #[test]
    fn timers_are_set_replaced_and_cleared_by_answers() {
        let pair = asked(&PairRow::default(), Answer::At(Timestamp(5)), true, NOW, 0);
        assert_eq!((pair.timer_at, pair.queued_at), (5, 0));
        let pair = asked(&pair, Answer::At(Timestamp(9)), true, NOW, 0);
        assert_eq!(pair.timer_at, 9);
        assert_eq!(asked(&pair, Answer::Yes, true, NOW, 0).timer_at, 9);
        assert_eq!(asked(&pair, Answer::Clear, true, NOW, 0), PairRow::default());
    }

    #[test]
    fn a_timer_that_came_is_used_up_and_a_later_one_stays() {
        let pair = PairRow { timer_at: 50, ..PairRow::default() };
        let keep = Outcome::default();
        assert_eq!(done(&pair, Cause::Moment(60), &keep, NOW).timer_at, 0);
        assert_eq!(done(&pair, Cause::Moment(40), &keep, NOW).timer_at, 50);
        assert_eq!(done(&pair, Cause::Queue, &keep, NOW).timer_at, 50);
        let again = Outcome { timer: Timer::At(Timestamp(70)), ..Outcome::default() };
        assert_eq!(done(&pair, Cause::Moment(60), &again, NOW).timer_at, 70);
    }

    #[test]
    fn failures_wait_longer_each_time_and_are_parked_in_the_end() {
        let mut pair = waiting();
        let mut now = NOW;
        let mut last = 0;
        for tries in 1..PATIENCE.max_tries {
            pair = failed(&pair, Cause::Moment(now.0), "no", now, 42);
            assert_eq!((pair.tries, pair.queued_at, pair.parked_at), (tries, 0, 0));
            let wait = pair.retry_at - now.0;
            assert!(wait >= last && wait <= 3_600_000_000, "{wait} after {last}");
            (last, now) = (wait, Timestamp(pair.retry_at));
        }
        assert!(last > 2_600_000_000, "the last waits are about an hour, not {last}");
        pair = failed(&pair, Cause::Moment(now.0), "no", now, 42);
        assert_eq!((pair.retry_at, pair.parked_at, pair.error.as_str()), (0, now.0, "no"));
    }

    #[test]
    fn only_an_outside_change_hurries_or_un_parks() {
        let failed = failed(&waiting(), Cause::Queue, "no", NOW, 1);
        assert_eq!(asked(&failed, Answer::Yes, false, NOW, 3), failed);
        let hurried = asked(&failed, Answer::Yes, true, NOW, 3);
        assert_eq!((hurried.turn, hurried.retry_at, hurried.tries), (3, 0, 0));
        let parked = parked(&waiting(), "loop", NOW);
        assert_eq!(asked(&parked, Answer::Yes, false, NOW, 3), parked);
        let un_parked = asked(&parked, Answer::No, true, NOW, 3);
        assert_eq!((un_parked.parked_at, un_parked.queued_at), (0, NOW.0));
        assert_eq!(owed(&parked, false, NOW), parked);
        assert_eq!((owed(&parked, true, NOW).retry_at, owed(&waiting(), true, NOW)), (NOW.0, waiting()));
    }

    #[test]
    fn a_state_has_a_new_version_with_every_change_and_never_an_old_one() {
        let set = |value: &[u8]| Outcome {
            state: StateChange::Set(Any { type_url: "t".into(), value: value.to_vec() }),
            timer: Timer::At(Timestamp(99)),
            ..Outcome::default()
        };
        let pair = done(&waiting(), Cause::Queue, &set(b"a"), NOW);
        assert_eq!(pair.state_version, NOW.0);
        assert_eq!(done(&pair, Cause::Queue, &set(b"a"), NOW), pair);
        assert_eq!(done(&pair, Cause::Queue, &set(b"b"), NOW).state_version, NOW.0 + 1);
        let cleared = Outcome { state: StateChange::Clear, ..Outcome::default() };
        assert_eq!(done(&pair, Cause::Queue, &cleared, NOW).state_version, NOW.0 + 1);
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        let pair = failed(&waiting(), Cause::Queue, &"я".repeat(2_000), NOW, 1);
        assert_eq!(pair.error.chars().count(), 500);
    }
}
