//! How much waits to be done.

use store::Range;

use crate::tables::{ERP_QUEUE, GOLD_QUEUE};
use crate::{Result, Silver};

/// SSKUs that wait, each kind counted up to a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    pub gold: usize,
    pub erp: usize,
}

impl Silver {
    pub async fn waiting(&self, limit: usize) -> Result<Waiting> {
        let (store, page) = (&self.united.store, Range::all(limit));
        let (gold, erp) = futures::try_join!(
            store.scan_after(&GOLD_QUEUE, &page, None, limit, |_, _| Some(())),
            store.scan_after(&ERP_QUEUE, &page, None, limit, |_, ()| Some(())),
        )?;
        Ok(Waiting { gold: gold.len(), erp: erp.len() })
    }
}
