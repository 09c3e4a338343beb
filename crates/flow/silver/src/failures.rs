//! What is owed, over all businesses: listed, tried again at once, given up.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kit::Timestamp;
use store::{Range, Read as _, Tx};
use topics::failures::debts::{Judge, PAGE, judge_all};
use united::shard_of;
use web::Verdict;
use wire::silver::Debt;

use crate::ssku::Key;
use crate::tables::FAILURES;
use crate::{Error, Result, Silver, debt};

/// Which debts are meant: those that everything said here holds for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub business: Option<u32>,
    /// The reason contains this.
    pub reason: Option<String>,
    /// Those that wait for a person, or those that do not.
    pub parked: Option<bool>,
}

impl Filter {
    pub fn of_business(business: u32) -> Self {
        Self { business: Some(business), ..Self::default() }
    }

    fn takes(&self, business: u32, debt: &Debt) -> bool {
        self.business.is_none_or(|wanted| wanted == business)
            && self.reason.as_ref().is_none_or(|reason| debt.reason.contains(reason.as_str()))
            && self.parked.is_none_or(|parked| debt.parked == parked)
    }

    fn range(&self, limit: usize) -> Result<Range> {
        Ok(match self.business {
            Some(business) => Range::prefix((business,), limit)?,
            None => Range::all(limit),
        })
    }
}

impl Silver {
    /// Debts behind this key, in the order of shards and keys.
    pub async fn failures(
        &self,
        filter: &Filter,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Debt)>> {
        let range = filter.range(limit)?;
        let behind = match after {
            Some(key) => Some((shard_of(key.business), range.clone().after((key.business, &*key.shop_sku))?)),
            None => None,
        };
        let pick = |(business, shop_sku): (u32, String), debt: Debt| {
            filter.takes(business, &debt).then_some((Key { business, shop_sku }, debt))
        };
        let store = &self.united.store;
        let Some(business) = filter.business else {
            return Ok(store.scan_after(&FAILURES, &range, behind, limit, pick).await?);
        };
        let mut found = Vec::new();
        let mut next = Some(behind.map_or(range, |(_, range)| range));
        while let Some(range) = next.take().filter(|_| found.len() < limit) {
            let page = store.snapshot(shard_of(business)).await?.scan(&FAILURES, range.clone()).await?;
            if let Some((key, _)) = page.last().filter(|_| page.len() == range.limit) {
                next = Some(range.after(key)?);
            }
            found.extend(page.into_iter().filter_map(|(key, debt)| pick(key, debt)));
        }
        found.truncate(limit);
        Ok(found)
    }

    /// Deals with one debt. `None`: there is none.
    pub async fn judge(&self, key: &Key, verdict: Verdict) -> Result<Option<Debt>> {
        let now = self.united.clock.now();
        let body = async |tx: &mut Tx| match verdict {
            Verdict::Retry => debt::retry(tx, key, now).await,
            Verdict::Drop => debt::drop_debt(tx, key, now).await,
        };
        self.united.store.transact(shard_of(key.business), body).await
    }

    /// The same for all that the filter takes, a page per transaction; says how many. A crash leaves the rest as it was.
    pub async fn judge_all(&self, filter: &Filter, verdict: Verdict) -> Result<usize> {
        let (only, range) = (filter.business.map(shard_of), filter.range(PAGE)?);
        let judge = Judging { filter, verdict, now: self.united.clock.now() };
        judge_all(&self.united.store, &[&FAILURES], only, &range, &judge).await
    }
}

struct Judging<'a> {
    filter: &'a Filter,
    verdict: Verdict,
    now: Timestamp,
}

#[async_trait]
impl Judge<(u32, String), Debt> for Judging<'_> {
    type Error = Error;

    async fn judge(&self, tx: &mut Tx, rows: BTreeMap<(u32, String), Debt>, _: usize) -> Result<usize> {
        let taken = rows.into_iter().filter(|((business, _), owed)| self.filter.takes(*business, owed));
        let debts: Vec<(Key, Debt)> =
            taken.map(|((business, shop_sku), owed)| (Key { business, shop_sku }, owed)).collect();
        match self.verdict {
            Verdict::Retry => {
                for (key, owed) in &debts {
                    debt::put(tx, key, Some(owed), &debt::at_once("", Some(owed), self.now))?;
                }
            }
            Verdict::Drop => debt::give_up(tx, &debts, self.now).await?,
        }
        Ok(debts.len())
    }
}
