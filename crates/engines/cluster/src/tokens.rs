//! Which tokens this process should hold, and which it does. Pure: transactions are run elsewhere.

use std::collections::BTreeMap;
use std::time::Duration;

use store::{SHARDS, Shard};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::plan::assign;
use crate::tables::{RoleRow, TokenRow};

/// What this process knows of its right to one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    No,
    /// The row may name this process, but nothing may be done under it: a transaction is under way or its outcome is
    /// not known.
    Unsure,
    /// The row names this process with this epoch.
    Held(u64),
}

struct Role {
    shards: u16,
    /// Which tokens the plan gives to this process.
    mine: Vec<bool>,
    own: Vec<Own>,
    /// Calls under way that keep a token from being handed over: how many, and until when at most.
    busy: BTreeMap<u16, (u32, Instant)>,
    /// Not worked for any more; dropped when the last token is given back.
    withdrawn: bool,
}

/// What has to be done in one shard, in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardWork {
    pub(crate) take: Vec<String>,
    pub(crate) release: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Tokens {
    roles: BTreeMap<String, Role>,
    watchers: BTreeMap<String, watch::Sender<u64>>,
}

impl Tokens {
    /// Says whether this is news.
    pub(crate) fn register(&mut self, name: &str, shards: u16) -> bool {
        let shards = shards.min(SHARDS);
        let size = usize::from(shards);
        let new = || Role { shards: 0, mine: vec![], own: vec![], busy: BTreeMap::new(), withdrawn: false };
        let role = self.roles.entry(name.to_owned()).or_insert_with(new);
        if role.shards == shards && !role.withdrawn {
            return false;
        }
        // A role that shrank still has to give back what lies beyond its end, so `own` never gets shorter.
        role.own.resize(size.max(role.own.len()), Own::No);
        role.mine.resize(role.own.len(), false);
        (role.shards, role.withdrawn) = (shards, false);
        true
    }

    /// Says whether the role was worked for.
    pub(crate) fn withdraw(&mut self, name: &str) -> bool {
        let Some(role) = self.roles.get_mut(name).filter(|role| !role.withdrawn) else { return false };
        role.withdrawn = true;
        role.mine.fill(false);
        true
    }

    /// The roles as the member row shows them.
    pub(crate) fn role_rows(&self) -> Vec<RoleRow> {
        let roles = self.roles.iter().filter(|(_, role)| !role.withdrawn);
        roles
            .map(|(name, role)| RoleRow {
                name: name.clone(),
                shards: u32::from(role.shards),
                held: role.own.iter().filter(|own| matches!(own, Own::Held(_))).count() as u32,
            })
            .collect()
    }

    /// Spreads each role over this process and the other live members that have it (sorted by id).
    pub(crate) fn replan(&mut self, me: &str, others: &[(String, Vec<String>)]) {
        for (name, role) in self.roles.iter_mut().filter(|(_, role)| !role.withdrawn) {
            let having = others.iter().filter(|(_, roles)| roles.contains(name)).map(|(id, _)| id.as_str());
            let mut members: Vec<_> = having.chain([me]).collect();
            members.sort_unstable();
            let owners = assign(name, role.shards, &members);
            role.mine.fill(false);
            for (mine, owner) in role.mine.iter_mut().zip(owners) {
                *mine = members[owner] == me;
            }
        }
    }

    /// What separates the plan from what is held, by shard. Tokens under which a call runs are left for later, but
    /// from now on no new call begins under them.
    pub(crate) fn work(&mut self, now: Instant) -> BTreeMap<Shard, ShardWork> {
        let mut work: BTreeMap<Shard, ShardWork> = BTreeMap::new();
        for (name, role) in &mut self.roles {
            let mut changed = false;
            for (index, own) in role.own.iter_mut().enumerate() {
                let Some(shard) = Shard::new(index as u16) else { continue };
                match (role.mine[index], *own) {
                    (true, Own::Held(_)) | (false, Own::No) => {}
                    (true, _) => work.entry(shard).or_default().take.push(name.clone()),
                    (false, _) => {
                        changed |= matches!(own, Own::Held(_));
                        *own = Own::Unsure;
                        let runs = |busy: &(u32, Instant)| busy.0 > 0 && now < busy.1;
                        if !role.busy.get(&(index as u16)).is_some_and(runs) {
                            work.entry(shard).or_default().release.push(name.clone());
                        }
                    }
                }
            }
            if changed {
                announce(&self.watchers, name);
            }
        }
        self.roles.retain(|_, role| !role.withdrawn || role.own.iter().any(|own| *own != Own::No));
        work
    }

    /// Whether the plan gives this token to this process.
    pub(crate) fn is_mine(&self, role: &str, shard: Shard) -> bool {
        self.roles.get(role).is_some_and(|role| role.mine.get(shard.index()) == Some(&true))
    }

    /// A transaction that may write these rows begins.
    pub(crate) fn unsure(&mut self, shard: Shard, roles: &[String]) {
        for role in roles {
            if let Some(own) = self.own(role, shard) {
                *own = Own::Unsure;
            }
        }
    }

    /// The transaction is durable: the row names this process with an epoch, or does not name it.
    pub(crate) fn settled(&mut self, role: &str, shard: Shard, epoch: Option<u64>) {
        let Some(own) = self.own(role, shard) else { return };
        let before = std::mem::replace(own, epoch.map_or(Own::No, Own::Held));
        if epoch.is_some() || matches!(before, Own::Held(_)) {
            announce(&self.watchers, role);
        }
    }

    /// The session is over: whatever rows name it are free for all.
    pub(crate) fn clear(&mut self) {
        for (name, role) in &mut self.roles {
            role.own.fill(Own::No);
            announce(&self.watchers, name);
        }
    }

    pub(crate) fn epoch(&self, role: &str, shard: Shard) -> Option<u64> {
        match self.roles.get(role)?.own.get(shard.index())? {
            Own::Held(epoch) => Some(*epoch),
            Own::No | Own::Unsure => None,
        }
    }

    pub(crate) fn held(&self, role: &str) -> Vec<Shard> {
        let own = self.roles.get(role).map_or(&[][..], |role| &role.own);
        let held = Shard::all().zip(own).filter(|(_, own)| matches!(own, Own::Held(_)));
        held.map(|(shard, _)| shard).collect()
    }

    pub(crate) fn held_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        let held = |role: &Role| role.own.iter().filter(|own| matches!(own, Own::Held(_))).count();
        self.roles.iter().map(move |(name, role)| (name.as_str(), held(role)))
    }

    /// A call begins under a token, to end before `until`.
    pub(crate) fn begin_call(&mut self, role: &str, shard: Shard, until: Instant) {
        if let Some(role) = self.roles.get_mut(role) {
            let busy = role.busy.entry(shard.number()).or_insert((0, until));
            *busy = (busy.0 + 1, busy.1.max(until));
        }
    }

    /// Says whether somebody waits for the token.
    pub(crate) fn end_call(&mut self, role: &str, shard: Shard) -> bool {
        let Some(role) = self.roles.get_mut(role) else { return false };
        if let Some(busy) = role.busy.get_mut(&shard.number()) {
            busy.0 = busy.0.saturating_sub(1);
            if busy.0 == 0 {
                role.busy.remove(&shard.number());
            }
        }
        role.own.get(shard.index()) == Some(&Own::Unsure)
    }

    /// How long calls under way may still last.
    pub(crate) fn busy_for(&self, now: Instant) -> Duration {
        let calls = self.roles.values().flat_map(|role| role.busy.values());
        calls.map(|(_, until)| until.saturating_duration_since(now)).max().unwrap_or_default()
    }

    pub(crate) fn watch(&mut self, role: &str) -> watch::Receiver<u64> {
        self.watchers.entry(role.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    fn own(&mut self, role: &str, shard: Shard) -> Option<&mut Own> {
        self.roles.get_mut(role)?.own.get_mut(shard.index())
    }
}

fn announce(watchers: &BTreeMap<String, watch::Sender<u64>>, role: &str) {
    if let Some(watcher) = watchers.get(role) {
        watcher.send_modify(|version| *version += 1);
    }
}

/// Who acts: a process in one of its sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Me<'a> {
    pub(crate) id: &'a str,
    pub(crate) session: u64,
}

impl Me<'_> {
    pub(crate) fn owns(&self, row: &TokenRow) -> bool {
        row.owner == self.id && row.session == self.session
    }

    /// The row after taking the token: as it is when it is ours already, `None` when another lives by it.
    pub(crate) fn take(
        &self,
        row: Option<TokenRow>,
        now: i64,
        gone: impl FnOnce(&str, u64) -> bool,
    ) -> Option<TokenRow> {
        let row = row.unwrap_or_default();
        if self.owns(&row) {
            return Some(row);
        }
        // A row that names a later session of this very process was written by nobody else than it.
        let free = row.owner.is_empty()
            || (row.owner == self.id && row.session < self.session)
            || (row.owner != self.id && gone(&row.owner, row.session));
        free.then(|| TokenRow {
            owner: self.id.to_owned(),
            session: self.session,
            epoch: row.epoch + 1,
            since: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(owner: &str, session: u64, epoch: u64) -> TokenRow {
        TokenRow { owner: owner.to_owned(), session, epoch, since: 5 }
    }

    #[test]
    fn a_token_is_taken_from_nobody_and_from_those_gone() {
        let me = Me { id: "me", session: 3 };
        let check = |before: Option<TokenRow>, after: Option<TokenRow>| {
            let gone = |owner: &str, _| owner == "dead";
            assert_eq!(me.take(before.clone(), 5, gone), after, "{before:?}");
        };
        check(None, Some(row("me", 3, 1)));
        check(Some(row("", 0, 7)), Some(row("me", 3, 8)));
        check(Some(row("dead", 1, 7)), Some(row("me", 3, 8)));
        check(Some(row("living", 1, 7)), None);
        check(Some(row("me", 3, 7)), Some(row("me", 3, 7)));
        check(Some(row("me", 2, 7)), Some(row("me", 3, 8)));
        check(Some(row("me", 4, 7)), None);
    }

    fn work(tokens: &mut Tokens) -> (usize, usize) {
        let work = tokens.work(Instant::now());
        (work.values().map(|work| work.take.len()).sum(), work.values().map(|work| work.release.len()).sum())
    }

    fn take_all(tokens: &mut Tokens) {
        for (shard, work) in tokens.work(Instant::now()) {
            tokens.unsure(shard, &work.take);
            for role in work.take {
                tokens.settled(&role, shard, Some(1));
            }
        }
    }

    #[test]
    fn what_is_held_follows_the_plan() {
        let mut tokens = Tokens::default();
        assert!(tokens.register("relay", 10) && !tokens.register("relay", 10));
        tokens.replan("me", &[]);
        assert_eq!(work(&mut tokens), (10, 0));
        take_all(&mut tokens);
        assert_eq!((work(&mut tokens), tokens.held("relay").len()), ((0, 0), 10));

        tokens.replan("me", &[("other".to_owned(), vec!["relay".to_owned()])]);
        assert_eq!(work(&mut tokens), (0, 5));
        assert_eq!(tokens.held("relay").len(), 5, "what is to be released is not held any more");
        tokens.replan("me", &[("other".to_owned(), vec!["stages".to_owned()])]);
        assert_eq!(work(&mut tokens), (5, 0), "a release whose outcome is not known is looked at again");

        assert!(tokens.withdraw("relay"));
        assert_eq!(work(&mut tokens), (0, 10));
        tokens.clear();
        assert_eq!((work(&mut tokens), tokens.role_rows().len()), ((0, 0), 0));
    }

    #[test]
    fn a_call_under_way_keeps_its_token() {
        let mut tokens = Tokens::default();
        tokens.register("relay", 1);
        tokens.replan("me", &[]);
        take_all(&mut tokens);
        let (shard, now) = (Shard::wrapping(0), Instant::now());
        tokens.begin_call("relay", shard, now + Duration::from_secs(3));
        tokens.withdraw("relay");
        assert!(tokens.work(now).is_empty() && tokens.held("relay").is_empty());
        assert_eq!(tokens.work(now + Duration::from_secs(3)).len(), 1, "but not for longer than it said");
        assert!(tokens.end_call("relay", shard));
        assert_eq!(work(&mut tokens), (0, 1));
    }

    #[test]
    fn a_role_that_shrank_gives_back_its_end() {
        let mut tokens = Tokens::default();
        tokens.register("read:topic:group", 8);
        tokens.replan("me", &[]);
        take_all(&mut tokens);
        assert!(tokens.register("read:topic:group", 6));
        tokens.replan("me", &[]);
        assert_eq!(work(&mut tokens), (0, 2));
    }
}
