//! One parameter: who survives, and why.

use std::cmp::Reverse;

use wire::silver::Candidate;
use wire::united::value::Kind;
use wire::united::{TimeUnit, Value};

use super::rules::{Choice, Rule};
use crate::parameters::MAX_VALUES;
use crate::ssku::BASIC;

pub struct Survivor {
    pub value: Vec<Value>,
    /// The winner first, the others by source and shop.
    pub candidates: Vec<Candidate>,
    /// The last rule that left somebody out.
    pub reason: &'static str,
}

/// Chooses among at least one candidate: a shop's word before the basic part's, the first source, the preferred shop, the rule's
/// choice; of equals the newest, of those the smallest shop.
pub fn survive(rule: &Rule, mut candidates: Vec<Candidate>) -> Survivor {
    candidates.sort_by(|a, b| (&b.source_type, a.shop_id).cmp(&(&a.source_type, b.shop_id)));
    let mut pool = Pool { left: (0..candidates.len()).collect(), all: &candidates, reason: "only_candidate" };
    pool.keep("service_over_basic", |candidate| candidate.shop_id != BASIC);
    for source in &rule.sources {
        pool.keep("source_priority", |candidate| candidate.source_type == source.name());
    }
    if let Some(shop) = rule.preferred_shop {
        pool.keep("preferred_shop", |candidate| candidate.shop_id == shop);
    }
    if rule.choose == Choice::Union {
        return union(&pool);
    }
    choose(&mut pool, rule.choose);
    pool.keep_best("tie_newest", |candidate| candidate.updated_at);
    pool.keep_best("tie_smallest_shop", |candidate| Reverse(candidate.shop_id));
    let (winner, mut reason) = (pool.left.first().copied().unwrap_or_default(), pool.reason);
    if candidates.len() > 1 && candidates.iter().all(|candidate| candidate.value == candidates[0].value) {
        reason = "all_agree";
    }
    candidates[..=winner].rotate_right(1);
    let value = candidates.first().map(|candidate| candidate.value.clone()).unwrap_or_default();
    Survivor { value, candidates, reason }
}

fn choose(pool: &mut Pool<'_>, choice: Choice) {
    match choice {
        Choice::Newest => pool.keep_best("newest", |candidate| candidate.updated_at),
        Choice::Oldest => pool.keep_best("oldest", |candidate| Reverse(candidate.updated_at)),
        Choice::Longest => pool.keep_best("longest", |candidate| length(&candidate.value)),
        Choice::Max => pool.keep_best("max", |candidate| measure(&candidate.value)),
        Choice::Min => pool.keep_best("min", |candidate| Reverse(measure(&candidate.value))),
        Choice::MostCommon => {
            let (all, left) = (pool.all, pool.left.clone());
            let same =
                |candidate: &Candidate| left.iter().filter(|at| all[**at].value == candidate.value).count();
            pool.keep_best("most_common", same);
        }
        Choice::Union => {}
    }
}

/// All values of the pool, the newest candidate's first, each once.
fn union(pool: &Pool<'_>) -> Survivor {
    let mut order = pool.left.clone();
    order.sort_by_key(|at| (Reverse(pool.all[*at].updated_at), pool.all[*at].shop_id));
    let mut value: Vec<Value> = Vec::new();
    for said in order.iter().flat_map(|at| &pool.all[*at].value) {
        if value.len() < MAX_VALUES && !value.contains(said) {
            value.push(said.clone());
        }
    }
    let others = (0..pool.all.len()).filter(|at| !order.contains(at));
    let candidates = order.iter().copied().chain(others).map(|at| pool.all[at].clone()).collect();
    let reason = if order.len() > 1 { "union" } else { pool.reason };
    Survivor { value, candidates, reason }
}

/// Who is still there, and the last rule that left somebody out.
struct Pool<'a> {
    left: Vec<usize>,
    all: &'a [Candidate],
    reason: &'static str,
}

impl Pool<'_> {
    /// Keeps those who are such, if anybody is.
    fn keep(&mut self, reason: &'static str, is_such: impl Fn(&Candidate) -> bool) {
        let such: Vec<_> = self.left.iter().copied().filter(|at| is_such(&self.all[*at])).collect();
        if !such.is_empty() && such.len() < self.left.len() {
            self.left = such;
            self.reason = reason;
        }
    }

    fn keep_best<R: Ord>(&mut self, reason: &'static str, rank: impl Fn(&Candidate) -> R) {
        let best = self.left.iter().map(|at| rank(&self.all[*at])).max();
        self.keep(reason, |candidate| Some(rank(candidate)) == best);
    }
}

fn length(values: &[Value]) -> usize {
    let text = |value: &Value| match &value.kind {
        Some(Kind::Text(text)) => text.chars().count(),
        _ => 0,
    };
    values.iter().map(text).sum()
}

/// A number by its size, a period by its hours, a box by its room.
fn measure(values: &[Value]) -> i128 {
    match values.first().and_then(|value| value.kind.as_ref()) {
        Some(Kind::Integer(number)) => i128::from(*number),
        Some(Kind::Box(sides)) => [sides.width, sides.height]
            .iter()
            .fold(i128::from(sides.length), |room, side| room.saturating_mul(i128::from(*side))),
        Some(Kind::Period(period)) => {
            let hours = match period.unit() {
                TimeUnit::UnknownUnit => 0,
                TimeUnit::Hour => 1,
                TimeUnit::Day => 24,
                TimeUnit::Week => 7 * 24,
                TimeUnit::Month => 730,
                TimeUnit::Year => 8_766,
                TimeUnit::Unlimited => return i128::MAX,
            };
            i128::from(period.amount) * hours
        }
        Some(Kind::Text(_) | Kind::Flag(_)) | None => 0,
    }
}

#[cfg(test)]
mod tests;
