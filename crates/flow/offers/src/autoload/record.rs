//! One record's effect: what was decided, written.

use std::collections::HashMap;

use model::{Issue, IssueType, Offer, OfferId, Origin, Status, status};
use store::Tx;
use wire::feeds::{FeedRecord, Outcome, RecordResult};
use wire::offers::offer_part::Kind;
use wire::offers::opinion::Verdict;
use wire::offers::{Actor, FeedHead, FeedProblems, FeedRow, OfferPart, Opinion, actor};

use super::Load;
use super::batch::Stored;
use super::decide::{Decision, Known, Rules, bad_id, decide, error};
use super::seen::Seen;
use crate::changes::Changes;
use crate::tables::{FEED, FEED_ORDINALS, FEED_PROBLEMS, OFFER};
use crate::write::{expiry, new_offer};
use crate::{Error, Result};

/// The record is of an offer that went to the archive, sold: a load does not bring it back.
const ARCHIVED: &str = "archived";

pub(super) struct Writer<'a> {
    load: &'a Load,
    rules: Rules,
    head: &'a mut FeedHead,
    stored: Stored,
    seen: Seen,
    changes: Changes<'a>,
    ids: Vec<OfferId>,
    opinions: HashMap<i64, Opinion>,
    /// Offers that the quota still allows.
    room: i64,
}

/// A feed changed the offer.
pub(super) fn by_feed(load: &Load, reason: &str) -> Actor {
    Actor {
        kind: actor::Kind::Feed.into(),
        who: load.namespace.clone(),
        task_id: load.task,
        reason: reason.to_owned(),
    }
}

/// That the offer is banned, in the words of the ban.
pub(super) fn ban_issue(offer: &Offer) -> Issue {
    let words = if offer.ban_text.is_empty() { offer.ban_reasons.join(", ") } else { offer.ban_text.clone() };
    Issue { parameters: vec![words], ..error(IssueType::Ban, "banned") }
}

/// A result without an outcome yet; warnings travel along.
pub(super) fn blank(record: &mut FeedRecord) -> RecordResult {
    RecordResult {
        external_id: record.external_id.clone(),
        line: record.line,
        title: std::mem::take(&mut record.title),
        issues: std::mem::take(&mut record.issues),
        ..RecordResult::default()
    }
}

/// The result of a record whose id cannot be kept; its issue shows the id.
pub(super) fn nameless(record: &mut FeedRecord, issue: Issue) -> RecordResult {
    let mut result = blank(record);
    result.external_id.clear();
    result.issues.push(issue);
    RecordResult { outcome: Outcome::Rejected.into(), ..result }
}

impl<'a> Writer<'a> {
    #[expect(clippy::too_many_arguments, reason = "what was read for the run, each of its own kind")]
    pub(super) fn new(
        load: &'a Load,
        rules: Rules,
        head: &'a mut FeedHead,
        stored: Stored,
        seen: Seen,
        changes: Changes<'a>,
        ids: Vec<OfferId>,
        opinions: HashMap<i64, Opinion>,
        room: i64,
    ) -> Self {
        Self { load, rules, head, stored, seen, changes, ids, opinions, room }
    }

    pub(super) async fn finish(self, tx: &mut Tx) -> Result<()> {
        self.seen.save(tx, self.load)?;
        self.changes.finish(tx).await
    }

    pub(super) fn record(&mut self, tx: &mut Tx, mut record: FeedRecord) -> Result<RecordResult> {
        if let Some(issue) = bad_id(&record.external_id) {
            return Ok(nameless(&mut record, issue));
        }
        let known = self.stored.of(&record);
        let seen = known.row.is_some_and(|row| self.seen.has(row.ordinal));
        let decision = decide(&record, Known { seen, ..known }, self.rules);
        let row = known.row.cloned();
        let mut result = blank(&mut record);
        result.offer_id = row.as_ref().map_or(0, |row| row.offer_id);
        let decision = self.within_quota(decision);
        let outcome = match decision {
            Decision::Duplicate => {
                let value = record.external_id.clone();
                result.issues.push(Issue { value, ..error(IssueType::Duplicate, "duplicate") });
                Outcome::Duplicate
            }
            Decision::Rejected(issues) => {
                self.mark(tx, &record, row, Some(&issues))?;
                result.issues = issues;
                Outcome::Rejected
            }
            Decision::Skipped(reason) => {
                self.mark(tx, &record, row, None)?;
                result.reason = reason;
                Outcome::Skipped
            }
            Decision::Unchanged => {
                self.seen.set(row.map_or(0, |row| row.ordinal));
                Outcome::Unchanged
            }
            Decision::Created => self.create(tx, record, row, &mut result)?,
            Decision::Matched | Decision::Revived | Decision::Readopted => {
                let row = row.unwrap_or_default();
                self.update(tx, record, &row, &decision, &mut result)?
            }
        };
        result.set_outcome(outcome);
        Ok(result)
    }

    fn within_quota(&mut self, decision: Decision) -> Decision {
        if !matches!(decision, Decision::Created | Decision::Revived) {
            return decision;
        }
        if self.room <= 0 {
            let most = self.changes.settings().max_offers.to_string();
            let issue = error(IssueType::Validation, "quota_offers");
            return Decision::Rejected(vec![Issue { parameters: vec![most], ..issue }]);
        }
        self.room -= 1;
        decision
    }

    /// The record was there, but its offer stays as it is; a new id gets a row, so that its repeat is seen.
    fn mark(
        &mut self,
        tx: &mut Tx,
        record: &FeedRecord,
        row: Option<FeedRow>,
        problems: Option<&[Issue]>,
    ) -> Result<()> {
        let Some(mut row) = row else {
            let row = FeedRow { ordinal: self.next_ordinal(tx, &record.external_id)?, ..FeedRow::default() };
            return self.keep_row(tx, &record.external_id, row);
        };
        self.seen.set(row.ordinal);
        let (Some(issues), 0) = (problems, row.dead_at) else { return Ok(()) };
        let Some(before) = self.stored.offers.remove(&row.offer_id) else { return Ok(()) };
        let part = FeedProblems { task_id: self.load.task, issues: issues.to_vec() };
        tx.put(&OFFER, (before.id, FEED_PROBLEMS), &OfferPart { kind: Some(Kind::Feed(part)) })?;
        let after = Offer { feed_problems: true, ..before.clone() };
        self.changes.save(tx, Some(&before), after, &by_feed(self.load, "rejected"))?;
        if row.attention {
            return Ok(());
        }
        row.attention = true;
        self.keep_row(tx, &record.external_id, row)
    }

    fn create(
        &mut self,
        tx: &mut Tx,
        record: FeedRecord,
        row: Option<FeedRow>,
        result: &mut RecordResult,
    ) -> Result<Outcome> {
        let FeedRecord { external_id, line, content, fingerprint, .. } = record;
        let id = self.ids.pop().ok_or_else(|| Error::Missing("an id for a new offer".to_owned()))?;
        let actor = by_feed(self.load, "created");
        let origin = self.origin(&external_id, line);
        let content = content.unwrap_or_default();
        let mut offer = new_offer(id, &self.load.seller, content, origin, &self.changes, &actor);
        // Of a dead row whose offer cannot come back, the ban does.
        if let Some(row) = row.as_ref().filter(|row| row.dead_at != 0 && row.banned && self.is_recent(row)) {
            ban(&mut offer, &row.ban_reasons, &row.ban_text);
        }
        let alive = row.filter(|row| row.dead_at == 0);
        let ordinal = match &alive {
            Some(row) => row.ordinal,
            None => self.next_ordinal(tx, &external_id)?,
        };
        self.seen.set(ordinal);
        self.head.live += i64::from(alive.is_none_or(|row| row.offer_id == 0));
        let offer = self.changes.save(tx, None, offer, &actor)?;
        result.offer_id = offer.id;
        let attention = offer.status() == Status::Banned;
        let row = FeedRow { offer_id: offer.id, ordinal, fingerprint, attention, ..FeedRow::default() };
        self.keep_row(tx, &external_id, row)?;
        Ok(told(&offer, Outcome::Created, result))
    }

    fn update(
        &mut self,
        tx: &mut Tx,
        record: FeedRecord,
        row: &FeedRow,
        how: &Decision,
        result: &mut RecordResult,
    ) -> Result<Outcome> {
        let FeedRecord { external_id, line, content, fingerprint, same, .. } = record;
        let Some(before) = self.stored.offers.remove(&row.offer_id) else {
            self.seen.set(row.ordinal);
            ARCHIVED.clone_into(&mut result.reason);
            return Ok(Outcome::Unchanged);
        };
        let comes_back = *how != Decision::Matched;
        let mut after = match how {
            Decision::Revived => revived(&before, row, self.opinions.get(&before.id)),
            _ => before.clone(),
        };
        if let Some(content) = content.filter(|_| !same) {
            after.content = Some(content);
        }
        if before.feed_problems {
            after.feed_problems = false;
            tx.delete(&OFFER, (before.id, FEED_PROBLEMS))?;
        }
        let was_expired = after.status() == Status::Expired;
        if was_expired {
            after.set_status(Status::Active);
        }
        if comes_back || after != before {
            after.origin = Some(self.origin(&external_id, line));
        }
        if was_expired || (comes_back && after.status() == Status::Active) {
            after.expires_at = expiry(&after, &self.changes);
        }
        let after = self.changes.save(tx, Some(&before), after, &by_feed(self.load, reason(how)))?;
        let ordinal = if comes_back { self.next_ordinal(tx, &external_id)? } else { row.ordinal };
        self.head.live += i64::from(comes_back);
        self.seen.set(ordinal);
        let attention = after.status() == Status::Banned;
        let sold = status::is_sold(after.status());
        let kept =
            FeedRow { offer_id: after.id, ordinal, fingerprint, attention, sold, ..FeedRow::default() };
        if kept != *row {
            self.keep_row(tx, &external_id, kept)?;
        }
        let outcome = match how {
            Decision::Revived => Outcome::Created,
            _ if after.version != before.version => Outcome::Updated,
            _ => Outcome::Unchanged,
        };
        Ok(told(&after, outcome, result))
    }

    fn origin(&self, external_id: &str, line: i64) -> Origin {
        Origin {
            namespace: self.load.namespace.clone(),
            external_id: external_id.to_owned(),
            task_id: self.load.task,
            line,
        }
    }

    /// Gives the id its place in file order, and marks it as seen.
    fn next_ordinal(&mut self, tx: &mut Tx, external_id: &String) -> Result<i64> {
        let ordinal = self.head.next_ordinal;
        self.head.next_ordinal += 1;
        let (seller, namespace) = self.load.feed();
        tx.put(&FEED_ORDINALS, (seller, namespace, ordinal), external_id)?;
        self.seen.set(ordinal);
        Ok(ordinal)
    }

    fn keep_row(&mut self, tx: &mut Tx, external_id: &str, row: FeedRow) -> Result<()> {
        let (seller, namespace) = self.load.feed();
        tx.put(&FEED, (seller, namespace, external_id), &row)?;
        self.stored.rows.insert(external_id.to_owned(), row);
        Ok(())
    }

    fn is_recent(&self, row: &FeedRow) -> bool {
        self.rules.now.since(kit::Timestamp(row.dead_at)) < self.rules.revive_within
    }
}

/// A banned offer's result says so, whatever else was done.
fn told(offer: &Offer, outcome: Outcome, result: &mut RecordResult) -> Outcome {
    if offer.status() != Status::Banned {
        return outcome;
    }
    result.issues.push(ban_issue(offer));
    Outcome::Banned
}

fn reason(how: &Decision) -> &'static str {
    match how {
        Decision::Revived => "revived",
        Decision::Readopted => "adopted_again",
        _ => "load",
    }
}

/// A deleted offer as it comes back: active, but for what a person withdrew or sold, and what moderation says last.
fn revived(before: &Offer, row: &FeedRow, opinion: Option<&Opinion>) -> Offer {
    let mut after = before.clone();
    let last = if row.banned { before.status_before_ban() } else { row.status_at_death() };
    let status = match last {
        Status::Inactive | Status::SoldHere | Status::SoldElsewhere => last,
        _ => Status::Active,
    };
    after.set_status(status);
    after.set_status_before_ban(Status::Unspecified);
    after.ban_reasons.clear();
    after.ban_text.clear();
    match opinion {
        _ if status::is_sold(status) => {}
        Some(opinion) if opinion.verdict() == Verdict::Ban => {
            ban(&mut after, &opinion.reasons, &opinion.text);
        }
        None if row.banned => ban(&mut after, &row.ban_reasons, &row.ban_text),
        _ => {}
    }
    after
}

fn ban(offer: &mut Offer, reasons: &[String], text: &str) {
    offer.set_status_before_ban(offer.status());
    offer.set_status(Status::Banned);
    offer.ban_reasons = reasons.to_vec();
    text.clone_into(&mut offer.ban_text);
}
