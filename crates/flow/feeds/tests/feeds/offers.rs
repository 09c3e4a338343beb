//! The other side of the topics, small: offers that answer `feed.offers` by the rules of the design.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use prost::Message as _;
use store::{Shard, Tx};
use topics::Record;
use topics::consume::{Failure, Handler, Undecodable};
use wire::feeds::feed_decision::Word;
use wire::feeds::terminal_result::End;
use wire::feeds::{
    BatchResult, Difference, FeedDecision, FeedMessage, FeedRecord, FeedResult, FeedTerminal, HeldResult,
    Outcome, RecordResult, SweepResult, Tally, TerminalResult, feed_message, feed_result,
};

#[derive(Clone, Default)]
pub(crate) struct Offers(pub(crate) Arc<Mutex<BTreeMap<(String, String), FeedState>>>);

pub(crate) struct Decisions(pub(crate) Offers);

/// What the offers know of a feed.
#[derive(Default)]
pub(crate) struct FeedState {
    /// External id → fingerprint.
    pub(crate) live: BTreeMap<String, Vec<u8>>,
    pub(crate) manual: BTreeSet<String>,
    current: i64,
    ended: i64,
    live_before: i64,
    applied: BTreeSet<(i64, i64)>,
    seen: BTreeMap<i64, BTreeSet<String>>,
    held: BTreeMap<i64, FeedTerminal>,
    /// Batches that came and were not known yet, and those that came again.
    pub(crate) batches: usize,
    pub(crate) repeats: usize,
    pub(crate) same: usize,
    /// Results of these batches are lost.
    pub(crate) drop_results: bool,
    /// The erasures after which the loads were made.
    pub(crate) erasures: BTreeSet<i64>,
}

impl Offers {
    pub(crate) fn state<T>(&self, key: &feeds::FeedKey, look: impl FnOnce(&mut FeedState) -> T) -> T {
        look(self.0.lock().unwrap().entry((key.seller.clone(), key.namespace.clone())).or_default())
    }

    pub(crate) fn live(&self, key: &feeds::FeedKey) -> Vec<String> {
        self.state(key, |state| state.live.keys().cloned().collect())
    }

    fn answer(&self, message: FeedMessage) -> Vec<feed_result::Kind> {
        let mut states = self.0.lock().unwrap();
        let state = states.entry((message.seller_id, message.namespace)).or_default();
        state.erasures.insert(message.after_erasure);
        let stale = !message.dry_run && (message.task_id < state.current || message.task_id <= state.ended);
        match message.kind.unwrap() {
            feed_message::Kind::Batch(batch) => {
                if !state.applied.insert((message.task_id, batch.number)) {
                    state.repeats += 1;
                    return Vec::new();
                }
                state.batches += 1;
                if state.current < message.task_id && !message.dry_run {
                    state.current = message.task_id;
                    state.live_before = state.live.len() as i64;
                }
                let mut result =
                    BatchResult { number: batch.number, part: 1, parts: 1, ..BatchResult::default() };
                let mut tally = Tally::default();
                for record in batch.records {
                    let (outcome, reason) = if stale {
                        (Outcome::Stale, "")
                    } else {
                        state.take(message.task_id, &record, message.dry_run)
                    };
                    count(&mut tally, outcome);
                    let said =
                        !record.issues.is_empty() || !reason.is_empty() || outcome == Outcome::Duplicate;
                    if said || message.dry_run {
                        result.records.push(told(record, outcome, reason, message.dry_run));
                    }
                }
                result.tally = Some(tally);
                if state.drop_results { Vec::new() } else { vec![feed_result::Kind::Batch(result)] }
            }
            feed_message::Kind::Abort(_) => {
                state.ended = state.ended.max(message.task_id);
                Vec::new()
            }
            feed_message::Kind::Terminal(_) if stale => vec![end(End::Superseded)],
            feed_message::Kind::Terminal(_) if message.dry_run => vec![end(End::Done)],
            feed_message::Kind::Terminal(terminal) => {
                let applied = state.applied.iter().filter(|(task, _)| *task == message.task_id).count();
                if (applied as i64) < terminal.batches {
                    return vec![end(End::Incomplete)];
                }
                state.ended = message.task_id;
                let would_go = state.missing(message.task_id).len() as i64;
                let guarded = terminal.guard_percent > 0 && !terminal.removal;
                if guarded
                    && would_go >= 20
                    && would_go * 100 > i64::from(terminal.guard_percent) * state.live_before
                {
                    state.held.insert(message.task_id, terminal);
                    let live_before = state.live_before;
                    return vec![feed_result::Kind::Held(HeldResult { would_go, live_before })];
                }
                state.sweep(message.task_id, terminal)
            }
        }
    }
}

impl FeedState {
    fn take(&mut self, task_id: i64, record: &FeedRecord, dry: bool) -> (Outcome, &'static str) {
        let id = record.external_id.clone();
        if !self.seen.entry(task_id).or_default().insert(id.clone()) {
            return (Outcome::Duplicate, "");
        }
        if record.issues.iter().any(|issue| issue.level() == model::Level::Error) {
            return (Outcome::Rejected, "");
        }
        if !record.skipped_because.is_empty() {
            return (Outcome::Skipped, "transient");
        }
        self.same += usize::from(record.same);
        let before = self.live.get(&id).cloned();
        let outcome = match before {
            Some(before) if before == record.fingerprint => return (Outcome::Unchanged, ""),
            _ if record.same => return (Outcome::Skipped, "content_needed"),
            Some(_) => Outcome::Updated,
            None => Outcome::Created,
        };
        if !dry {
            self.live.insert(id, record.fingerprint.clone());
        }
        (outcome, "")
    }

    fn missing(&self, task_id: i64) -> Vec<String> {
        let none = BTreeSet::new();
        let seen = self.seen.get(&task_id).unwrap_or(&none);
        self.live.keys().filter(|id| !seen.contains(*id)).cloned().collect()
    }

    fn sweep(&mut self, task_id: i64, terminal: FeedTerminal) -> Vec<feed_result::Kind> {
        let gone = self.missing(task_id);
        let make_manual = terminal.on_missing() == wire::feeds::OnMissing::MakeManual;
        for id in &gone {
            self.live.remove(id);
            if make_manual {
                self.manual.insert(id.clone());
            }
        }
        let count = gone.len() as i64;
        let (deleted, made_manual) = if make_manual { (0, count) } else { (count, 0) };
        let sweep = SweepResult { number: 1, deleted, made_manual };
        vec![feed_result::Kind::Sweep(sweep), end(End::Done)]
    }
}

fn end(end: End) -> feed_result::Kind {
    feed_result::Kind::Terminal(TerminalResult { end: end.into(), ..TerminalResult::default() })
}

fn count(tally: &mut Tally, outcome: Outcome) {
    *match outcome {
        Outcome::Created => &mut tally.created,
        Outcome::Updated => &mut tally.updated,
        Outcome::Unchanged => &mut tally.unchanged,
        Outcome::Rejected => &mut tally.rejected,
        Outcome::Banned => &mut tally.banned,
        Outcome::Duplicate => &mut tally.duplicate,
        Outcome::Skipped => &mut tally.skipped,
        Outcome::Stale | Outcome::Unspecified => &mut tally.stale,
    } += 1;
}

fn told(record: FeedRecord, outcome: Outcome, reason: &str, dry: bool) -> RecordResult {
    let mut issues = record.issues;
    if outcome == Outcome::Duplicate {
        issues.push(model::Issue {
            level: model::Level::Error.into(),
            r#type: model::IssueType::Duplicate.into(),
            code: "duplicate".to_owned(),
            value: record.external_id.clone(),
            ..model::Issue::default()
        });
    }
    let difference = Difference { path: "price".to_owned(), ..Difference::default() };
    let differences = if dry && outcome == Outcome::Updated { vec![difference] } else { Vec::new() };
    RecordResult {
        external_id: record.external_id,
        line: record.line,
        title: record.title,
        outcome: outcome.into(),
        issues,
        reason: reason.to_owned(),
        differences,
        ..RecordResult::default()
    }
}

async fn send(
    tx: &mut Tx,
    to: (&str, &str, i64, bool),
    kinds: Vec<feed_result::Kind>,
) -> Result<(), Failure> {
    let (seller, namespace, task_id, dry_run) = to;
    let message = |kind| {
        let result = FeedResult {
            seller_id: seller.to_owned(),
            namespace: namespace.to_owned(),
            task_id,
            dry_run,
            kind: Some(kind),
        };
        topics::Message::new(seller, result.encode_to_vec())
    };
    let messages = kinds.into_iter().map(message).collect();
    Ok(topics::outbox::send(tx, model::topics::FEED_RESULTS, messages).await?)
}

#[async_trait]
impl Handler for Offers {
    type Message = FeedMessage;

    fn decode(&self, record: &Record) -> Result<(Shard, FeedMessage), Undecodable> {
        Ok((Shard::of_bytes(&record.key), FeedMessage::decode(record.payload.as_ref()).unwrap()))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<FeedMessage>) -> Result<(), Failure> {
        for message in messages {
            let (seller, namespace) = (message.seller_id.clone(), message.namespace.clone());
            let (task_id, dry) = (message.task_id, message.dry_run);
            let answers = self.answer(message);
            send(tx, (&seller, &namespace, task_id, dry), answers).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Handler for Decisions {
    type Message = FeedDecision;

    fn decode(&self, record: &Record) -> Result<(Shard, FeedDecision), Undecodable> {
        Ok((Shard::of_bytes(&record.key), FeedDecision::decode(record.payload.as_ref()).unwrap()))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<FeedDecision>) -> Result<(), Failure> {
        for decision in messages {
            let key = (decision.seller_id.clone(), decision.namespace.clone());
            let answers = {
                let mut states = self.0.0.lock().unwrap();
                let state = states.entry(key).or_default();
                match state.held.remove(&decision.task_id) {
                    None => vec![end(End::Superseded)],
                    Some(terminal) if decision.word() == Word::Confirm => {
                        state.sweep(decision.task_id, terminal)
                    }
                    Some(_) => vec![end(End::RejectedByPerson)],
                }
            };
            let to = (decision.seller_id.as_str(), decision.namespace.as_str(), decision.task_id, false);
            send(tx, to, answers).await?;
        }
        Ok(())
    }
}
