//! Gold comes back. Outside of versions and comparison: nothing is shipped by it.

use store::{Read as _, Tx};
use wire::united::MarketMasterData;

use crate::Result;
use crate::tables::OFFERS;

/// Writes the golden records of offers of a business; `None` takes one away. An offer that is not here is left alone.
pub async fn write_back(
    tx: &mut Tx,
    business: u32,
    records: Vec<(String, Option<MarketMasterData>)>,
) -> Result<()> {
    let keys = records.iter().map(|(shop_sku, _)| (business, shop_sku.as_str()));
    let rows = tx.get_many(&OFFERS, keys).await?;
    for ((shop_sku, record), row) in records.into_iter().zip(rows) {
        let Some(mut row) = row.filter(|row| row.master_data != record) else { continue };
        row.master_data = record;
        tx.put(&OFFERS, (business, shop_sku.as_str()), &row)?;
    }
    Ok(())
}
