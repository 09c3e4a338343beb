//! What is known of an SSKU, at one moment.

use store::{Range, Read as _};
use united::{OFFERS, shard_of};
use wire::silver::{CutRow, Debt, GoldRow, SskuRow};

use crate::convert::Delivered;
use crate::ssku::Key;
use crate::steps::{Plan, Stored, plan};
use crate::tables::{CUTS, ERP_QUEUE, EXISTENCE, FAILURES, GOLD, GOLD_QUEUE, SSKU};
use crate::{Error, Result, Silver};

/// Records or markers of one SSKU.
const MAX_ROWS: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SskuView {
    /// By source type and source id.
    pub records: Vec<((String, String), SskuRow)>,
    pub shops: Vec<u32>,
    pub cut: Option<CutRow>,
    pub debt: Option<Debt>,
    pub gold: Option<GoldRow>,
    pub waits_for_gold: bool,
    pub waits_for_erp: bool,
}

impl Silver {
    /// Everything that is kept of an SSKU.
    pub async fn view(&self, key: &Key) -> Result<SskuView> {
        let snapshot = self.united.store.snapshot(shard_of(key.business)).await?;
        let row = (key.business, key.shop_sku.as_str());
        let (records, markers, cut, debt, gold, for_gold, for_erp) = futures::try_join!(
            snapshot.scan(&SSKU, Range::prefix(row, MAX_ROWS)?),
            snapshot.scan(&EXISTENCE, Range::prefix(row, MAX_ROWS)?),
            snapshot.get(&CUTS, row),
            snapshot.get(&FAILURES, row),
            snapshot.get(&GOLD, row),
            snapshot.get(&GOLD_QUEUE, row),
            snapshot.get(&ERP_QUEUE, row),
        )?;
        Ok(SskuView {
            records: records.into_iter().map(|((_, _, source, id), row)| ((source, id), row)).collect(),
            shops: markers.into_iter().map(|((_, _, shop), ())| shop).collect(),
            cut,
            debt,
            gold,
            waits_for_gold: for_gold.is_some(),
            waits_for_erp: for_erp.is_some(),
        })
    }
}

/// What importing an SSKU would do now.
pub enum Explanation {
    /// United has no such offer.
    Unknown,
    /// It cannot be converted, and why.
    Refused(String),
    Planned(Box<Plan>),
}

impl Silver {
    /// Takes the offer, as united would ship it now, through the steps, and writes nothing.
    pub async fn explain(&self, key: &Key) -> Result<Explanation> {
        let row = (key.business, key.shop_sku.as_str());
        let Some(offer) = self.united.store.get(&OFFERS, shard_of(key.business), row).await? else {
            return Ok(Explanation::Unknown);
        };
        let shipped = self.united.subscriptions.shipped_offer(&offer, |_| true);
        let offer = match Delivered::of(&shipped).map_err(Error::Invalid)?.ssku {
            Ok(offer) => offer,
            Err(refused) => return Ok(Explanation::Refused(refused.reason)),
        };
        let view = self.view(key).await?;
        let stored = Stored { rows: view.records.into_iter().collect(), exists: !view.shops.is_empty() };
        let settings = self.read_settings().await?;
        Ok(Explanation::Planned(Box::new(plan(&settings.import, key, &[offer], &stored))))
    }
}
