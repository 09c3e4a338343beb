//! What becomes of a record, from the record and what is known of its id. No reads, no writes.

use std::time::Duration;

use kit::Timestamp;
use model::limits::MAX_CONTENT_BYTES;
use model::{Issue, IssueType, Level, Offer, Status, names};
use wire::feeds::FeedRecord;
use wire::offers::FeedRow;

use crate::presets::is_from_feed;

/// So much is shown of an id that cannot be kept.
const MAX_SHOWN_CHARACTERS: usize = 64;
/// The record travelled without its content, and the content is needed.
pub(super) const CONTENT_NEEDED: &str = "content_needed";

/// What is known of a record's id.
#[derive(Clone, Copy, Default)]
pub(super) struct Known<'a> {
    pub(super) row: Option<&'a FeedRow>,
    /// Read only where [`needs_offer`] says so; an offer that cannot be found is in the archive.
    pub(super) offer: Option<&'a Offer>,
    /// This task had the id before.
    pub(super) seen: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) now: Timestamp,
    pub(super) revive_within: Duration,
}

#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    Duplicate,
    /// The errors that the record brought, or those found here.
    Rejected(Vec<Issue>),
    Skipped(String),
    Unchanged,
    /// There is an offer to look at: the record or the offer changed.
    Matched,
    /// The offer went not long ago and comes back.
    Revived,
    /// The offer was made manual, still is, and belongs to the feed again.
    Readopted,
    Created,
}

pub(super) fn decide(record: &FeedRecord, known: Known<'_>, rules: Rules) -> Decision {
    if known.seen {
        return Decision::Duplicate;
    }
    let issues = errors(record);
    if !issues.is_empty() {
        return Decision::Rejected(issues);
    }
    if !record.skipped_because.is_empty() {
        return Decision::Skipped(record.skipped_because.clone());
    }
    let fate = fate(record, known, rules);
    let has_content = record.content.is_some() && !record.same;
    let keeps_content = known.row.is_some_and(|row| is_same(record, row));
    match fate {
        Decision::Unchanged => fate,
        Decision::Matched if has_content || keeps_content => fate,
        _ if has_content => fate,
        _ => Decision::Skipped(CONTENT_NEEDED.to_owned()),
    }
}

/// Whether the offer must be read for the decision. What is unchanged needs only its feed row.
pub(super) fn needs_offer(record: &FeedRecord, row: &FeedRow) -> bool {
    let is_quiet = row.dead_at == 0 && !row.attention && is_same(record, row);
    row.offer_id != 0 && !(is_quiet && is_good(record))
}

fn fate(record: &FeedRecord, known: Known<'_>, rules: Rules) -> Decision {
    let Some(row) = known.row.filter(|row| row.offer_id != 0) else { return Decision::Created };
    let status = known.offer.map(Offer::status);
    if row.dead_at == 0 {
        return match status {
            _ if is_same(record, row) && !row.attention => Decision::Unchanged,
            Some(Status::Deleted) => Decision::Created,
            _ => Decision::Matched,
        };
    }
    let Some(offer) = known.offer else { return Decision::Created };
    if rules.now.since(Timestamp(row.dead_at)) >= rules.revive_within {
        return Decision::Created;
    }
    match offer.status() {
        Status::Deleted if !row.detached || was_banned(offer) => Decision::Revived,
        // Made manual and then deleted by hand: as with any deletion by hand, the next load makes a new one.
        Status::Deleted => Decision::Created,
        _ if row.detached && !is_from_feed(offer) => Decision::Readopted,
        _ => Decision::Created,
    }
}

/// A deleted offer that was banned when it went.
fn was_banned(offer: &Offer) -> bool {
    offer.status_before_ban() != Status::Unspecified
}

fn is_same(record: &FeedRecord, row: &FeedRow) -> bool {
    !record.fingerprint.is_empty() && record.fingerprint == row.fingerprint
}

/// Everything that is wrong with the record; empty where it is good.
fn errors(record: &FeedRecord) -> Vec<Issue> {
    if is_good(record) {
        return Vec::new();
    }
    let mut found = record.issues.clone();
    let size = content_bytes(record);
    if size > MAX_CONTENT_BYTES {
        let parameters = vec![size.to_string(), MAX_CONTENT_BYTES.to_string()];
        found.push(Issue { parameters, ..error(IssueType::Validation, "too_large") });
    }
    found
}

fn is_good(record: &FeedRecord) -> bool {
    !record.issues.iter().any(|issue| issue.level() == Level::Error)
        && content_bytes(record) <= MAX_CONTENT_BYTES
}

fn content_bytes(record: &FeedRecord) -> usize {
    record.content.as_ref().map_or(0, prost::Message::encoded_len)
}

/// What is wrong with the id itself: without one, nothing can be kept.
pub(super) fn bad_id(external_id: &str) -> Option<Issue> {
    names::check_external_id(external_id).err()?;
    let value: String = external_id.chars().take(MAX_SHOWN_CHARACTERS).collect();
    let issue = |code: &str| Issue {
        field: "id".to_owned(),
        value: value.clone(),
        ..error(IssueType::Validation, code)
    };
    Some(if external_id.is_empty() {
        issue("id_missing")
    } else if external_id.len() > names::MAX_EXTERNAL_ID_BYTES {
        let sizes = [external_id.chars().count(), names::MAX_EXTERNAL_ID_BYTES];
        Issue { parameters: sizes.map(|size| size.to_string()).to_vec(), ..issue("too_long") }
    } else {
        issue("control_character")
    })
}

pub(super) fn error(kind: IssueType, code: &str) -> Issue {
    Issue { level: Level::Error.into(), r#type: kind.into(), code: code.to_owned(), ..Issue::default() }
}

#[cfg(test)]
mod tests {
    use model::{Content, Origin};

    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const RULES: Rules =
        Rules { now: Timestamp(1_790_000_000_000_000), revive_within: Duration::from_secs(30 * 86_400) };

    fn record() -> FeedRecord {
        FeedRecord {
            external_id: "a".into(),
            content: Some(Content::default()),
            fingerprint: vec![1],
            ..FeedRecord::default()
        }
    }

    fn row() -> FeedRow {
        FeedRow { offer_id: 5, fingerprint: vec![1], ..FeedRow::default() }
    }

    fn offer(status: Status) -> Offer {
        Offer { id: 5, status: status.into(), ..Offer::default() }
    }

    fn dead(days: u32) -> FeedRow {
        FeedRow { dead_at: RULES.now.minus(days * DAY).0, ..row() }
    }

    #[track_caller]
    fn check(record: &FeedRecord, row: Option<&FeedRow>, offer: Option<&Offer>, expected: &Decision) {
        assert_eq!(&decide(record, Known { row, offer, seen: false }, RULES), expected);
    }

    #[test]
    fn a_record_seen_before_is_a_duplicate_whatever_it_says() {
        let broken = FeedRecord { issues: vec![error(IssueType::Geo, "geo_missing")], ..record() };
        let known = Known { row: Some(&row()), offer: None, seen: true };
        assert_eq!(decide(&record(), known, RULES), Decision::Duplicate);
        assert_eq!(decide(&broken, known, RULES), Decision::Duplicate);
    }

    #[test]
    fn what_is_known_and_quiet_is_unchanged_without_reading_the_offer() {
        check(&record(), Some(&row()), None, &Decision::Unchanged);
        assert!(!needs_offer(&record(), &row()));
        let attention = FeedRow { attention: true, ..row() };
        check(&record(), Some(&attention), Some(&offer(Status::Expired)), &Decision::Matched);
        assert!(needs_offer(&record(), &attention));
        let other = FeedRecord { fingerprint: vec![2], ..record() };
        check(&other, Some(&row()), Some(&offer(Status::Active)), &Decision::Matched);
        // Without a fingerprint nothing is the same.
        let none = FeedRecord { fingerprint: vec![], ..record() };
        let blank = FeedRow { fingerprint: vec![], ..row() };
        check(&none, Some(&blank), Some(&offer(Status::Active)), &Decision::Matched);
    }

    #[test]
    fn a_record_without_its_content_needs_it_unless_the_offer_has_it() {
        let same = FeedRecord { same: true, content: None, ..record() };
        let needed = Decision::Skipped(CONTENT_NEEDED.into());
        check(&same, Some(&row()), None, &Decision::Unchanged);
        let attention = FeedRow { attention: true, ..row() };
        check(&same, Some(&attention), Some(&offer(Status::Expired)), &Decision::Matched);
        check(&same, None, None, &needed);
        check(&same, Some(&FeedRow { fingerprint: vec![9], ..row() }), Some(&offer(Status::Active)), &needed);
        check(&same, Some(&dead(1)), Some(&offer(Status::Deleted)), &needed);
        check(&same, Some(&FeedRow { offer_id: 0, ..row() }), None, &needed);
    }

    #[test]
    fn dead_rows_come_back_for_thirty_days() {
        check(&record(), Some(&dead(29)), Some(&offer(Status::Deleted)), &Decision::Revived);
        check(&record(), Some(&dead(30)), Some(&offer(Status::Deleted)), &Decision::Created);
        check(&record(), Some(&dead(1)), None, &Decision::Created);
        let detached = FeedRow { detached: true, ..dead(3) };
        check(&record(), Some(&detached), Some(&offer(Status::Inactive)), &Decision::Readopted);
        check(&record(), Some(&detached), Some(&offer(Status::Deleted)), &Decision::Created);
        let banned = Offer { status_before_ban: Status::Active.into(), ..offer(Status::Deleted) };
        check(&record(), Some(&detached), Some(&banned), &Decision::Revived);
        let origin = Some(Origin { namespace: "other".into(), ..Origin::default() });
        check(
            &record(),
            Some(&detached),
            Some(&Offer { origin, ..offer(Status::Active) }),
            &Decision::Created,
        );
    }

    #[test]
    fn errors_reject_warnings_do_not_and_a_large_offer_is_an_error() {
        let warning = Issue { level: Level::Warning.into(), ..Issue::default() };
        let warned = FeedRecord { issues: vec![warning.clone()], ..record() };
        check(&warned, None, None, &Decision::Created);
        let geo = error(IssueType::Geo, "geo_missing");
        let broken = FeedRecord { issues: vec![warning.clone(), geo.clone()], ..record() };
        check(&broken, Some(&row()), None, &Decision::Rejected(vec![warning, geo]));
        assert!(needs_offer(&broken, &row()));
        let sized = |bytes: usize| {
            let content = Content { description: "x".repeat(bytes), ..Content::default() };
            FeedRecord { content: Some(content), ..record() }
        };
        check(&sized(MAX_CONTENT_BYTES - 4), None, None, &Decision::Created);
        let rejected = decide(&sized(MAX_CONTENT_BYTES - 3), Known::default(), RULES);
        let Decision::Rejected(issues) = rejected else { panic!("{rejected:?}") };
        assert_eq!(
            (issues[0].code.as_str(), &*issues[0].parameters),
            ("too_large", &["102401".into(), "102400".into()][..])
        );
    }

    #[test]
    fn an_id_that_cannot_be_kept_is_named() {
        let code = |id: &str| bad_id(id).map(|issue| issue.code);
        assert_eq!(code("sku 1"), None);
        assert_eq!(code("").as_deref(), Some("id_missing"));
        assert_eq!(code("a\0").as_deref(), Some("control_character"));
        assert_eq!(code(&"x".repeat(257)).as_deref(), Some("too_long"));
    }
}
