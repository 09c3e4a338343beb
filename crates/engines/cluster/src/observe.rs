//! What this process knows of the others, from reading their heartbeat rows. No clock but its own counts.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::tables::MemberRow;

/// When a silent member counts as dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) beat: Duration,
    pub(crate) lease: Duration,
    pub(crate) reads: u32,
    /// How long a dead member is remembered.
    pub(crate) forget: Duration,
    /// No other process can open the store, so whoever else is registered is gone.
    pub(crate) alone: bool,
}

pub(crate) struct Observer {
    me: String,
    rules: Rules,
    members: BTreeMap<String, Seen>,
    last_read: Option<Instant>,
    /// The live members as last reported.
    reported: Vec<Live>,
}

/// A live member, as far as plans depend on it: id, session, roles with their shards.
type Live = (String, u64, Vec<(String, u32)>);

/// A member as last read. `row` is `None` for one that a token row names but that has no row of its own.
struct Seen {
    row: Option<MemberRow>,
    present: bool,
    /// The latest session that its row, or a row that it wrote, has shown.
    session: u64,
    /// When the first read of this value ended.
    since: Instant,
    /// When the last read that counts began, and how many there were.
    counted: Instant,
    reads: u32,
    dead: bool,
}

impl Observer {
    pub(crate) fn new(me: &str, rules: Rules) -> Self {
        Self { me: me.to_owned(), rules, members: BTreeMap::new(), last_read: None, reported: vec![] }
    }

    /// Takes in one successful read of all rows; says whether the set of live members changed.
    pub(crate) fn read(&mut self, rows: Vec<(String, MemberRow)>, began: Instant, ended: Instant) -> bool {
        if self.rules.alone {
            return false;
        }
        // Who could not look for a while (store outage, suspended machine) knows nothing of that time: start anew.
        let blind = self.last_read.is_some_and(|last| began.duration_since(last) >= self.rules.beat * 3);
        self.last_read = Some(ended);
        let mut rows: BTreeMap<_, _> = rows.into_iter().filter(|(id, _)| *id != self.me).collect();
        for (id, seen) in &mut self.members {
            seen.read(rows.remove(id), blind, began, ended, self.rules);
        }
        for (id, row) in rows {
            self.members.insert(id, Seen::new(Some(row), began, ended));
        }
        let forget = self.rules.forget;
        self.members.retain(|_, seen| seen.present || ended.duration_since(seen.since) < forget * 2);
        let live = self.fingerprint();
        std::mem::replace(&mut self.reported, live) != self.reported
    }

    /// Whether what this member held in this session is free for all. Of a session never heard of, only time can tell:
    /// the member wrote a row in it, so it lived, and is watched anew from now on.
    pub(crate) fn gone(&mut self, id: &str, session: u64, now: Instant) -> bool {
        if self.rules.alone {
            return id != self.me;
        }
        let seen = self.members.entry(id.to_owned()).or_insert_with(|| Seen::new(None, now, now));
        if session > seen.session {
            (seen.session, seen.since, seen.counted, seen.reads, seen.dead) = (session, now, now, 1, false);
        }
        seen.is_gone() || session < seen.session
    }

    /// Whether this member is dead or has left, in whatever session.
    pub(crate) fn member_gone(&mut self, id: &str, now: Instant) -> bool {
        id != self.me && self.gone(id, 0, now) && self.members.get(id).is_none_or(Seen::is_gone)
    }

    /// The other members that work, with their rows, by id.
    pub(crate) fn live(&self) -> impl Iterator<Item = (&str, &MemberRow)> {
        self.members
            .iter()
            .filter(|(_, seen)| !seen.is_gone())
            .filter_map(|(id, seen)| Some((id.as_str(), seen.row.as_ref()?)))
    }

    /// When to read again at the latest: at the next beat, or at the moment when a silent member can be told dead.
    pub(crate) fn next_read(&self, now: Instant) -> Instant {
        let next = now + self.rules.beat;
        let verdicts =
            self.members.values().filter(|seen| !seen.is_gone() && seen.reads + 1 >= self.rules.reads);
        let verdicts = verdicts.map(|seen| seen.since + self.rules.lease).filter(|time| *time > now);
        verdicts.min().map_or(next, |verdict| verdict.min(next))
    }

    /// Rows of members that have been gone for long, with the beat last read; the first live member clears them away.
    pub(crate) fn forgettable(&self, now: Instant) -> Vec<(String, u64)> {
        if self.live().next().is_some_and(|(id, _)| id < self.me.as_str()) {
            return Vec::new();
        }
        let old = |seen: &Seen| now.duration_since(seen.since) >= self.rules.forget;
        let gone = self.members.iter().filter(|(_, seen)| seen.present && seen.is_gone() && old(seen));
        gone.filter_map(|(id, seen)| Some((id.clone(), seen.row.as_ref()?.beat))).collect()
    }

    /// What the plan depends on.
    fn fingerprint(&self) -> Vec<Live> {
        let roles = |row: &MemberRow| row.roles.iter().map(|role| (role.name.clone(), role.shards)).collect();
        self.live().map(|(id, row)| (id.to_owned(), row.session, roles(row))).collect()
    }
}

impl Seen {
    fn new(row: Option<MemberRow>, began: Instant, ended: Instant) -> Self {
        let session = row.as_ref().map_or(0, |row| row.session);
        Self { present: row.is_some(), row, session, since: ended, counted: began, reads: 1, dead: false }
    }

    fn is_gone(&self) -> bool {
        self.dead || self.row.as_ref().is_some_and(|row| row.leaving)
    }

    /// A row that is missing says what an unchanged one says: nothing new.
    fn read(&mut self, row: Option<MemberRow>, blind: bool, began: Instant, ended: Instant, rules: Rules) {
        self.present = row.is_some();
        let beats = |row: &MemberRow| (row.session, row.beat, row.leaving);
        let is_new = row.is_some() && row.as_ref().map(beats) != self.row.as_ref().map(beats);
        if is_new || blind && !self.dead {
            let row = row.or_else(|| self.row.take());
            let new = Self::new(row, began, ended);
            *self = Self { present: self.present, session: new.session.max(self.session), ..new };
            return;
        }
        // Reads that follow one another closely say no more than one.
        if began.duration_since(self.counted) >= rules.beat.mul_f64(0.7) {
            self.counted = began;
            self.reads += 1;
        }
        if self.reads >= rules.reads && began >= self.since + rules.lease {
            self.dead = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        beat: Duration::from_secs(2),
        lease: Duration::from_secs(6),
        reads: 4,
        forget: Duration::from_mins(10),
        alone: false,
    };

    /// Reads at moments after `start`, each with a fresh member `x` in this session at this beat.
    struct Watch {
        start: Instant,
        observer: Observer,
    }

    impl Watch {
        fn new() -> Self {
            Self { start: Instant::now(), observer: Observer::new("me", RULES) }
        }

        fn at(&self, ms: u64) -> Instant {
            self.start + Duration::from_millis(ms)
        }

        fn read(&mut self, ms: u64, rows: &[(&str, u64, u64)]) -> bool {
            let row = |session, beat| MemberRow { session, beat, ..MemberRow::default() };
            let rows =
                rows.iter().map(|(id, session, beat)| ((*id).to_owned(), row(*session, *beat))).collect();
            self.observer.read(rows, self.at(ms), self.at(ms))
        }

        fn gone(&mut self, ms: u64, id: &str, session: u64) -> bool {
            let now = self.at(ms);
            self.observer.gone(id, session, now)
        }
    }

    #[test]
    fn four_equal_reads_over_six_seconds_are_death() {
        let mut watch = Watch::new();
        assert!(watch.read(0, &[("x", 1, 7)]));
        for ms in [2_000, 4_000, 5_999] {
            assert!(!watch.read(ms, &[("x", 1, 7)]) && !watch.gone(ms, "x", 1));
        }
        assert_eq!(watch.observer.next_read(watch.at(5_999)), watch.at(6_000));
        assert!(watch.read(6_000, &[("x", 1, 7)]) && watch.gone(6_000, "x", 1));
        assert!(watch.read(8_000, &[("x", 2, 8)]), "who comes back lives");
        assert!(!watch.gone(8_000, "x", 2) && watch.gone(8_000, "x", 1), "in a session of its own");
    }

    #[test]
    fn reads_in_quick_succession_count_as_one() {
        let mut watch = Watch::new();
        for ms in (0..5_000).step_by(100) {
            watch.read(ms, &[("x", 1, 7)]);
        }
        assert!(!watch.gone(5_000, "x", 1));
        let mut watch = Watch::new();
        for ms in [0, 100, 200, 300, 5_900, 6_100] {
            watch.read(ms, &[("x", 1, 7)]);
        }
        assert!(!watch.gone(6_100, "x", 1), "two of these reads tell nothing");
    }

    #[test]
    fn who_was_blind_begins_anew() {
        let mut watch = Watch::new();
        for ms in [0, 2_000, 4_000] {
            watch.read(ms, &[("x", 1, 7)]);
        }
        for ms in [30_000, 32_000, 34_000] {
            watch.read(ms, &[("x", 1, 7)]);
            assert!(!watch.gone(ms, "x", 1), "the store was down for all of us");
        }
        watch.read(36_000, &[("x", 1, 7)]);
        assert!(watch.gone(36_000, "x", 1));
    }

    #[test]
    fn a_session_that_was_only_heard_of_lives_until_it_is_silent_too() {
        let mut watch = Watch::new();
        for ms in [0, 2_000, 4_000, 6_000] {
            watch.read(ms, &[("x", 1, 7)]);
        }
        assert!(watch.gone(6_000, "x", 1));
        assert!(!watch.gone(6_500, "x", 2), "a token row shows that it came back");
        assert!(watch.gone(6_500, "x", 1), "but not in the session that ended");
        assert!(watch.read(8_000, &[("x", 1, 7)]), "it counts as alive again");
        for ms in [10_000, 12_000, 14_000] {
            watch.read(ms, &[("x", 1, 7)]);
        }
        assert!(watch.gone(14_000, "x", 2));
    }

    #[test]
    fn somebody_without_a_row_is_waited_for_like_anybody() {
        let mut watch = Watch::new();
        watch.read(0, &[]);
        assert!(!watch.gone(500, "x", 3));
        for ms in [2_000, 4_000, 6_000] {
            watch.read(ms, &[]);
            assert!(!watch.gone(ms, "x", 3));
        }
        watch.read(8_000, &[]);
        assert!(watch.gone(8_000, "x", 3));
    }

    #[test]
    fn rows_of_those_long_gone_are_cleared_by_the_first_alone() {
        let mut watch = Watch::new();
        for ms in (0..=700_000).step_by(2_000) {
            watch.read(ms, &[("x", 1, 7), ("z", 1, ms)]);
        }
        assert_eq!(watch.observer.forgettable(watch.at(700_000)), [("x".to_owned(), 7)]);
        watch.read(702_000, &[("a", 1, 1), ("x", 1, 7), ("z", 1, 702_000)]);
        assert_eq!(watch.observer.forgettable(watch.at(702_000)), [], "`a` comes before `me`");
    }
}
