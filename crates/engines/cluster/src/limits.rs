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
    pub(crate) slots: u32,
    pub(crate) rate: f64,
}

/// One process's turn at the row: what it leaves there, and what it may do.
pub(crate) fn step(
    row: LimitRow,
    limits: Limits,
    ask: Ask<'_>,
    mut gone: impl FnMut(&ShareRow) -> bool,
) -> (LimitRow, Grant) {
    let mut had = 0;
    let mut others = Vec::with_capacity(row.shares.len() + 1);
    for share in row.shares {
        if share.member == ask.member {
            had = share.slots;
        } else if !gone(&share) {
            others.push(share);
        }
    }
    if ask.demand == 0 && ask.in_use == 0 {
        return (LimitRow { shares: others }, Grant::default());
    }
    let all_demand = others.iter().map(|share| f64::from(share.demand)).sum::<f64>() + f64::from(ask.demand);
    let part = f64::from(ask.demand) / all_demand.max(1.0);
    let grant = Grant {
        slots: slots(&others, limits.parallel, ask, had, part),
        rate: rate(&others, limits.per_second, part),
    };
    others.push(ShareRow {
        member: ask.member.to_owned(),
        session: ask.session,
        demand: ask.demand,
        slots: grant.slots,
        rate: grant.rate,
    });
    (LimitRow { shares: others }, grant)
}

fn rate(others: &[ShareRow], limit: f64, part: f64) -> f64 {
    if !limit.is_finite() {
        return f64::INFINITY;
    }
    let leased: f64 = others.iter().map(|share| share.rate).filter(|rate| rate.is_finite()).sum();
    (limit - leased).max(0.0).min(limit * part)
}

fn slots(others: &[ShareRow], limit: u32, ask: Ask<'_>, had: u32, part: f64) -> u32 {
    if limit == u32::MAX {
        return u32::MAX;
    }
    let leased = others.iter().fold(0_u32, |sum, share| sum.saturating_add(share.slots));
    let free = limit.saturating_sub(leased);
    let others_demand: u64 = others.iter().map(|share| u64::from(share.demand)).sum();
    if others_demand + u64::from(ask.demand) <= u64::from(limit) {
        return ask.demand.min(free).max(ask.in_use);
    }
    let fair = (f64::from(limit) * part).floor() as u32;
    // Fewer slots than processes: they take turns, whoever had one lets those who have none go first.
    let others_starve = others.iter().any(|share| share.slots == 0 && share.demand > 0);
    let fair = if fair == 0 && !(had > 0 && others_starve) { 1 } else { fair };
    fair.min(free).min(ask.demand).max(ask.in_use)
}
