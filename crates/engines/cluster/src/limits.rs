//! How a limit is shared. Pure: one step per process and second.
//!
//! Nobody needs a clock that others understand: a process leases a *rate* (calls it may begin per second) and *slots*
//! (calls under way), and paces itself. The leases of all never exceed the limit; who has more than its share by demand gives
//! the excess back at its next step.

use crate::tables::{LimitRow, ShareRow};

/// What all processes together may do. `f64::INFINITY` and `u32::MAX` mean no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) per_second: f64,
    pub(crate) parallel: u32,
}

/// What one process has and wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) member: &'a str,
    pub(crate) session: u64,
    /// Calls under way, which cannot be taken back.
    pub(crate) in_use: u32,
    /// Calls under way and waiting.
    pub(crate) demand: u32,
}

/// What one process may do until its next step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Grant {
    /// A call may begin while fewer than these are under way.
    pub(crate) slots: u32,
    /// What the row says it has: more than `slots` while calls under way are more than its share.
    pub(crate) leased: u32,
    pub(crate) rate: f64,
}

/// One process's turn at the row: what it leaves there, and what it may do.
pub(crate) fn step(
    row: LimitRow,
    limits: Limits,
    ask: Ask<'_>,
    mut gone: impl FnMut(&ShareRow) -> bool,
) -> (LimitRow, Grant) {
    let (mut served, mut others) = (0, Vec::with_capacity(row.shares.len() + 1));
    for share in row.shares {
        if share.member == ask.member {
            served = share.served;
        } else if !gone(&share) {
            others.push(share);
        }
    }
    if ask.demand == 0 && ask.in_use == 0 {
        return (LimitRow { shares: others, turn: row.turn }, Grant::default());
    }
    let all_demand = others.iter().map(|share| f64::from(share.demand)).sum::<f64>() + f64::from(ask.demand);
    let part = f64::from(ask.demand) / all_demand.max(1.0);
    let slots = slots(&others, limits.parallel, ask, served, part);
    let leased = slots.max(ask.in_use);
    let grant = Grant { slots, leased, rate: rate(&others, limits.per_second, part) };
    let turn = row.turn + u64::from(slots > 0);
    others.push(ShareRow {
        member: ask.member.to_owned(),
        session: ask.session,
        demand: ask.demand,
        slots: leased,
        rate: grant.rate,
        served: if slots > 0 { turn } else { served },
    });
    (LimitRow { shares: others, turn }, grant)
}

/// Whether the member has less after its step than before, while others have nothing and wait.
pub(crate) fn gives_back(before: &LimitRow, after: &LimitRow, member: &str) -> bool {
    let has = |row: &LimitRow| {
        let mine = row.shares.iter().find(|share| share.member == member);
        mine.map_or((0, 0.0), |share| (share.slots, share.rate))
    };
    let (before, now) = (has(before), has(after));
    let starves = |share: &ShareRow| {
        share.member != member && share.demand > 0 && (share.slots == 0 || share.rate <= 0.0)
    };
    (now.0 < before.0 || now.1 < before.1) && after.shares.iter().any(starves)
}

fn rate(others: &[ShareRow], limit: f64, part: f64) -> f64 {
    if !limit.is_finite() {
        return f64::INFINITY;
    }
    let leased: f64 = others.iter().map(|share| share.rate).filter(|rate| rate.is_finite()).sum();
    (limit - leased).max(0.0).min(limit * part)
}

fn slots(others: &[ShareRow], limit: u32, ask: Ask<'_>, served: u64, part: f64) -> u32 {
    if limit == u32::MAX {
        return u32::MAX;
    }
    let leased = others.iter().fold(0_u32, |sum, share| sum.saturating_add(share.slots));
    let free = limit.saturating_sub(leased);
    let others_demand: u64 = others.iter().map(|share| u64::from(share.demand)).sum();
    if others_demand + u64::from(ask.demand) <= u64::from(limit) {
        return ask.demand.min(free);
    }
    let fair = (f64::from(limit) * part).floor() as u32;
    // Fewer slots than processes: they take turns, whoever waits longest comes first.
    let waits_longer = |share: &ShareRow| share.slots == 0 && share.demand > 0 && share.served < served;
    let fair = if fair == 0 && !others.iter().any(waits_longer) { 1 } else { fair };
    fair.min(free).min(ask.demand)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    const LIMITS: Limits = Limits { per_second: 10.0, parallel: 4 };

    fn ask(row: &mut LimitRow, member: &str, in_use: u32, demand: u32) -> Grant {
        let ask = Ask { member, session: 1, in_use, demand };
        let (after, grant) = step(std::mem::take(row), LIMITS, ask, |share| share.member == "dead");
        *row = after;
        grant
    }

    #[test]
    fn shares_follow_demand() {
        let mut row = LimitRow::default();
        assert_eq!(ask(&mut row, "a", 0, 9), Grant { slots: 4, leased: 4, rate: 10.0 });
        assert_eq!(ask(&mut row, "b", 0, 3), Grant { slots: 0, leased: 0, rate: 0.0 }, "nothing is left");
        assert_eq!(ask(&mut row, "a", 4, 9), Grant { slots: 3, leased: 4, rate: 7.5 }, "calls go on");
        assert_eq!(ask(&mut row, "a", 3, 9), Grant { slots: 3, leased: 3, rate: 7.5 });
        assert_eq!(ask(&mut row, "b", 0, 3), Grant { slots: 1, leased: 1, rate: 2.5 });
        assert_eq!(ask(&mut row, "a", 0, 0), Grant::default());
        assert_eq!(ask(&mut row, "b", 1, 3), Grant { slots: 3, leased: 3, rate: 10.0 });
    }

    #[test]
    fn the_dead_leave_their_share() {
        let mut row = LimitRow::default();
        ask(&mut row, "dead", 0, 100);
        assert_eq!(ask(&mut row, "a", 0, 2), Grant { slots: 2, leased: 2, rate: 10.0 });
        assert_eq!(row.shares.len(), 1);
    }

    /// Whatever anybody asks in whatever order: never more is leased than there is, and nobody waits for ever.
    #[test]
    fn no_order_of_steps_leases_too_much() {
        let names: Vec<_> = (0..7).map(|index| format!("m{index}")).collect();
        for seed in 0..200 {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut row = LimitRow::default();
            let mut leases = vec![Grant::default(); names.len()];
            let mut last_slot = vec![0; names.len()];
            for turn in 0..2_000 {
                let index = rng.random_range(0..names.len());
                // Calls begin only within the slots; those under way may go on.
                let in_use = rng.random_range(0..=leases[index].slots);
                leases[index] = ask(&mut row, &names[index], in_use, in_use + rng.random_range(1..5));
                let slots: u32 = leases.iter().map(|lease| lease.leased).sum();
                let rate: f64 = leases.iter().map(|lease| lease.rate).sum();
                assert!(
                    slots <= LIMITS.parallel && rate <= LIMITS.per_second + 1e-9,
                    "seed {seed}: {leases:?}"
                );
                if leases[index].slots > 0 {
                    last_slot[index] = turn;
                }
            }
            assert!(last_slot.iter().all(|turn| *turn > 1_700), "seed {seed}: {last_slot:?}");
        }
    }
}
