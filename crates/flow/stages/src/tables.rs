//! Tables that the offers' own transactions do not touch; the others are in `offers::stages::tables`.

use store::{Shard, Space, Table, TableSpec};
use wire::stages::PricePoints;

/// (bucket, slot), in the shard of the bucket: prices of like offers.
pub const PRICE_POINTS: Table<(String, u32), PricePoints> =
    Table::new("stages", "price_points", &["bucket", "slot"], Space::Large);

/// Where a bucket of prices lives.
pub fn bucket_shard(bucket: &str) -> Shard {
    Shard::of(bucket)
}

pub fn tables() -> Vec<TableSpec> {
    vec![PRICE_POINTS.spec()]
}
