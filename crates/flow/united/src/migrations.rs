//! Offers that move to another business.

use kit::Timestamp;
use prost::Message as _;
use store::{Read as _, Tx};
use topics::{Message, outbox};
use wire::united::{MigrationDone, MigrationState, OpenMigrations};

use crate::Result;
use crate::tables::{MIGRATIONS, MIGRATIONS_OPEN};

/// What a state is called outside.
pub fn state_name(state: MigrationState) -> &'static str {
    match state {
        MigrationState::MigrationUnspecified | MigrationState::Asked => "asked",
        MigrationState::Shipped => "shipped",
        MigrationState::Done => "done",
    }
}

/// The requests that wait for silver, for each of these offers of a target business.
pub async fn open(tx: &Tx, business: u32, shop_skus: &[String]) -> Result<Vec<Option<OpenMigrations>>> {
    let keys = shop_skus.iter().map(|shop_sku| (business, shop_sku.as_str()));
    Ok(tx.get_many(&MIGRATIONS_OPEN, keys).await?)
}

/// Answers all requests that wait for an offer: once each, since an answered one waits no more.
pub async fn answer(
    tx: &mut Tx,
    business: u32,
    shop_sku: &str,
    open: &OpenMigrations,
    now: Timestamp,
) -> Result<()> {
    let keys = open.request_id.iter().map(|request| (business, request.as_str()));
    let rows = tx.get_many(&MIGRATIONS, keys).await?;
    let mut messages = Vec::new();
    for (request_id, row) in open.request_id.iter().zip(rows) {
        let Some(mut row) = row.filter(|row| row.state() != MigrationState::Done) else { continue };
        row.set_state(MigrationState::Done);
        row.done_at = now.0;
        tx.put(&MIGRATIONS, (business, request_id.as_str()), &row)?;
        let done = MigrationDone {
            request_id: request_id.clone(),
            source_business_id: row.source_business_id,
            target_business_id: business,
            shop_sku: shop_sku.to_owned(),
            done_at: now.0,
        };
        messages.push(Message::new(business.to_string(), done.encode_to_vec()));
    }
    tx.delete(&MIGRATIONS_OPEN, (business, shop_sku))?;
    outbox::send(tx, model::topics::MIGRATIONS_DONE, messages).await?;
    Ok(())
}
