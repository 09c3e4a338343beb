//! The tables of system `united`, all in the shard of the business.

use store::{Shard, Space, Table, TableSpec, Value};
use wire::united::{MigrationRow, MovedOffer, MovedRow, OfferRow, OpenMigrations, ShopRow};

const SYSTEM: &str = "united";

/// (business, shop's id of the offer).
pub const OFFERS: Table<(u32, String), OfferRow> =
    Table::new(SYSTEM, "offers", &["business_id", "shop_sku"], Space::Large);
/// (business, shop): whose offers a shop has.
pub const SHOPS: Table<(u32, u32), ShopRow> =
    Table::new(SYSTEM, "shops", &["business_id", "shop_id"], Space::Small);
/// (business, shop): shops of which older epochs are not ended yet.
pub const ENDINGS: Table<(u32, u32), ()> =
    Table::new(SYSTEM, "endings", &["business_id", "shop_id"], Space::Queue);
/// The last version that a business gave; it survives erasure, so that no version is given twice.
pub const CLOCK: Table<(u32,), i64> = Table::new(SYSTEM, "clock", &["business_id"], Space::Small);
/// Offers that went to another business.
pub const MOVED: Table<(u32, String), MovedRow> =
    Table::new(SYSTEM, "moved", &["business_id", "shop_sku"], Space::Small);
/// (source business, shop's id of the offer, piece): offers on their way, until their target has them.
pub const GIVEN: Table<(u32, String, u32), MovedOffer> =
    Table::new(SYSTEM, "given", &["business_id", "shop_sku", "piece"], Space::Large);
/// (target business, request).
pub const MIGRATIONS: Table<(u32, String), MigrationRow> =
    Table::new(SYSTEM, "migrations", &["business_id", "request_id"], Space::Small);
pub const MIGRATIONS_OPEN: Table<(u32, String), OpenMigrations> =
    Table::new(SYSTEM, "migrations_open", &["business_id", "shop_sku"], Space::Small);

/// The tables to declare in the schema of every process.
pub fn tables() -> Vec<TableSpec> {
    vec![
        OFFERS.spec(),
        SHOPS.spec(),
        ENDINGS.spec(),
        CLOCK.spec(),
        MOVED.spec(),
        GIVEN.spec(),
        MIGRATIONS.spec(),
        MIGRATIONS_OPEN.spec(),
    ]
}

/// Rows of one transaction that are written anew and told of: what comes of them is a few times as much.
const PAGE_BYTES: usize = store::MAX_TRANSACTION_BYTES / 8;

/// Cuts a page of at most `limit` rows to what one transaction has room for, and to one row at least. Says whether there may be
/// more behind it.
pub fn cut_page<K, V: Value>(page: &mut Vec<(K, V)>, limit: usize) -> bool {
    let mut bytes = 0;
    let fits = |(_, row): &&(K, V)| {
        bytes += row.encoded_len();
        bytes <= PAGE_BYTES
    };
    let count = page.iter().take_while(fits).count().max(1);
    let is_more = page.len() == limit || count < page.len();
    page.truncate(count);
    is_more
}

/// Where everything of a business lives.
pub fn shard_of(business: u32) -> Shard {
    Shard::of(&business.to_string())
}
