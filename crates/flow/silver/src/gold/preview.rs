//! What other rules would change, over all SSKUs, without changing anything.

use std::collections::BTreeMap;

use store::{Range, Read as _, Shard, Store};
use wire::silver::SskuRow;
use wire::united::Value;

use super::{Rules, make};
use crate::Result;
use crate::ssku::{Key, SOURCE_ID, SourceType};
use crate::tables::SSKU;

const MAX_SAMPLES: usize = 20;
const PAGE: usize = 500;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    pub sskus: u64,
    /// SSKUs of which at least one value would change.
    pub changed_sskus: u64,
    /// By parameter.
    pub changed_values: BTreeMap<u32, u64>,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub key: Key,
    pub parameter: u32,
    pub before: Vec<Value>,
    pub after: Vec<Value>,
    pub reason: String,
}

/// Makes the gold of every record by both rules and compares. Reads a page at a time, each of one moment.
pub async fn preview(store: &Store, now: &Rules, then: &Rules) -> Result<Preview> {
    let all: Vec<Shard> = Shard::all().collect();
    let filled = store.scan_shards(&SSKU, &all, Range::all(1)).await?;
    let mut preview = Preview::default();
    for (shard, ..) in filled {
        let mut range = Range::all(PAGE);
        loop {
            let page = store.snapshot(shard).await?.scan(&SSKU, range.clone()).await?;
            let Some((last, _)) = page.last() else { break };
            let next = Range::all(PAGE).after(last)?;
            let is_last = page.len() < PAGE;
            for ((business, shop_sku, source, id), row) in page {
                let source = SourceType::EVERY.into_iter().find(|known| known.name() == source);
                if let Some(source) = source.filter(|_| id == SOURCE_ID) {
                    preview.add(&Key { business, shop_sku }, source, &row, now, then);
                }
            }
            if is_last {
                break;
            }
            range = next;
        }
    }
    Ok(preview)
}

impl Preview {
    fn add(&mut self, key: &Key, source: SourceType, row: &SskuRow, now: &Rules, then: &Rules) {
        self.sskus += 1;
        let (before, after) = (make(now, &[(source, row)]), make(then, &[(source, row)]));
        let mut is_changed = false;
        // Both have the same parameters: rules choose among candidates, and never leave all of them out.
        for (before, after) in before.into_iter().zip(after) {
            if before.value == after.value {
                continue;
            }
            is_changed = true;
            *self.changed_values.entry(after.parameter_id).or_default() += 1;
            if self.samples.len() < MAX_SAMPLES {
                self.samples.push(Sample {
                    key: key.clone(),
                    parameter: after.parameter_id,
                    before: before.value,
                    after: after.value,
                    reason: after.reason,
                });
            }
        }
        self.changed_sskus += u64::from(is_changed);
    }
}
