//! A seller is erased: nothing that was brought for him stays.
//!
//! His offers let their own urls go when they are deleted; here goes what no offer uses: photos that were uploaded and
//! never named, errors, and, should an offer's release still be on its way, its urls too (releasing twice does nothing).
//! A step takes [`URLS_AT_ONCE`] and [`USES_AT_ONCE`]; when there is more, the same transaction sends the message again, so a crash anywhere
//! leaves either the whole step or none of it, with the message that goes on.

use async_trait::async_trait;
use files::{Files, Referrer};
use store::{Range, Read as _, Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record, outbox};
use wire::offers::SellerErasure;

use crate::Result;
use crate::tables::{PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES};

const URLS_AT_ONCE: usize = 200;
/// A url may be used by all offers of a seller, so its uses are taken in steps too.
const USES_AT_ONCE: usize = 1_000;

/// The consumer of [`crate::ERASURES_TOPIC`].
pub struct Erasures;

#[async_trait]
impl Handler for Erasures {
    type Message = SellerErasure;

    fn decode(&self, record: &Record) -> std::result::Result<(Shard, SellerErasure), Undecodable> {
        let word = model::erasure::read(&record.payload).map_err(Undecodable)?;
        Ok((Shard::of(&word.seller_id), word))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<SellerErasure>) -> std::result::Result<(), Failure> {
        for word in messages {
            let seller = word.seller_id;
            if step(tx, &seller).await? == Step::More {
                let payload = model::erasure::write(&seller, word.asked_at);
                outbox::send(tx, crate::ERASURES_TOPIC, vec![Message::new(seller, payload)]).await?;
            }
        }
        Ok(())
    }
}

/// Whether a step left something to the next one.
#[derive(PartialEq, Eq)]
enum Step {
    More,
    Last,
}

async fn step(tx: &mut Tx, seller: &str) -> Result<Step> {
    let errors = tx.scan(&PHOTO_ERRORS, Range::prefix((seller,), URLS_AT_ONCE)?).await?;
    for (key, _) in &errors {
        tx.delete(&PHOTO_ERRORS, key)?;
    }
    let urls = tx.scan(&PHOTO_URLS, Range::prefix((seller,), URLS_AT_ONCE)?).await?;
    let mut room = USES_AT_ONCE;
    for ((_, hash), row) in &urls {
        let uses = tx.scan(&PHOTO_USES, Range::prefix((seller, hash), room)?).await?;
        for (key, ()) in &uses {
            tx.delete(&PHOTO_USES, key)?;
        }
        room -= uses.len();
        if room == 0 {
            // There may be more of this one: its row stays for the next step.
            break;
        }
        tx.delete(&PHOTO_URLS, (seller, hash))?;
        if let Some(file) = row.file_hash() {
            Files::release(tx, &file, &Referrer::new(row.referrer.as_str())?).await?;
        }
    }
    let is_full = errors.len().max(urls.len()) == URLS_AT_ONCE || room == 0;
    Ok(if is_full { Step::More } else { Step::Last })
}
