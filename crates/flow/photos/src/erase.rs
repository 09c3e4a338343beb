//! A seller is erased: nothing that was brought for him stays.
//!
//! His offers let their own urls go when they are deleted; here goes what no offer uses: photos that were uploaded and
//! never named, errors, and, should an offer's release still be on its way, its urls too (releasing twice does nothing).
//! A step takes [`URLS_AT_ONCE`] and [`USES_AT_ONCE`]; when there is more, the same transaction sends the message again, so a crash anywhere
//! leaves either the whole step or none of it, with the message that goes on.

use std::collections::BTreeMap;

use async_trait::async_trait;
use files::{Files, Referrer};
use futures::future::{try_join_all, try_join3};
use store::{Range, Read as _, Shard, Tx};
use topics::consume::{Failure, Handler, Undecodable};
use topics::{Message, Record, outbox};
use wire::offers::SellerErasure;

use crate::Result;
use crate::tables::{ErrorRow, PHOTO_ERRORS, PHOTO_URLS, PHOTO_USES, UPLOAD_QUOTAS, UrlRow};

const URLS_AT_ONCE: usize = 200;
/// A url may be used by all offers of a seller, so its uses are taken in steps too.
const USES_AT_ONCE: usize = 1_000;

/// The consumer of [`model::topics::OFFERS_ERASURES`].
pub struct Erasures;

#[async_trait]
impl Handler for Erasures {
    type Message = SellerErasure;

    fn decode(&self, record: &Record) -> std::result::Result<(Shard, SellerErasure), Undecodable> {
        let word = model::erasure::read(&record.payload).map_err(Undecodable)?;
        Ok((Shard::of(&word.seller_id), word))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<SellerErasure>) -> std::result::Result<(), Failure> {
        let mut sellers: BTreeMap<String, i64> = BTreeMap::new();
        for word in messages {
            let asked_at = sellers.entry(word.seller_id).or_default();
            *asked_at = word.asked_at.max(*asked_at);
        }
        let mut again = Vec::new();
        let rows = read(tx, sellers.keys()).await?;
        for ((seller, asked_at), rows) in sellers.into_iter().zip(rows) {
            if step(tx, &seller, &rows).await? == Step::More {
                let payload = model::erasure::write(&seller, asked_at);
                again.push(Message::new(seller, payload));
            }
        }
        outbox::send(tx, model::topics::OFFERS_ERASURES, again).await?;
        Ok(())
    }
}

/// Whether a step left something to the next one.
#[derive(PartialEq, Eq)]
enum Step {
    More,
    Last,
}

/// The first rows of a seller, those of urls and of uses in the same order.
struct Rows {
    errors: Vec<((String, Vec<u8>), ErrorRow)>,
    urls: Vec<((String, Vec<u8>), UrlRow)>,
    uses: Vec<(String, Vec<u8>, i64)>,
}

/// Asks for the rows of all sellers together.
async fn read(tx: &Tx, sellers: impl Iterator<Item = &String>) -> Result<Vec<Rows>> {
    let mut asked = Vec::new();
    for seller in sellers {
        let range = |most| Range::prefix((seller.as_str(),), most);
        let (errors, urls, uses) = (range(URLS_AT_ONCE)?, range(URLS_AT_ONCE)?, range(USES_AT_ONCE)?);
        asked.push(async move {
            let errors = tx.scan(&PHOTO_ERRORS, errors);
            let (urls, uses) = (tx.scan(&PHOTO_URLS, urls), tx.scan(&PHOTO_USES, uses));
            let (errors, urls, uses) = try_join3(errors, urls, uses).await?;
            let uses = uses.into_iter().map(|(key, ())| key).collect();
            Ok::<_, store::Error>(Rows { errors, urls, uses })
        });
    }
    Ok(try_join_all(asked).await?)
}

async fn step(tx: &mut Tx, seller: &str, Rows { errors, urls, uses }: &Rows) -> Result<Step> {
    for (key, _) in errors {
        tx.delete(&PHOTO_ERRORS, key)?;
    }
    for key in uses {
        tx.delete(&PHOTO_USES, key)?;
    }
    // Of the last one that was read there may be more uses: its row, and those behind it, stay for the next step.
    let is_cut = uses.len() == USES_AT_ONCE;
    let cut_at = uses.last().filter(|_| is_cut).map(|(_, hash, _)| hash);
    for ((_, hash), row) in urls.iter().take_while(|((_, hash), _)| cut_at.is_none_or(|cut_at| hash < cut_at))
    {
        tx.delete(&PHOTO_URLS, (seller, hash))?;
        if let Some(file) = row.file_hash() {
            Files::release(tx, &file, &Referrer::new(row.referrer.as_str())?).await?;
        }
    }
    tx.delete(&UPLOAD_QUOTAS, (seller,))?;
    let is_full = errors.len().max(urls.len()) == URLS_AT_ONCE || is_cut;
    Ok(if is_full { Step::More } else { Step::Last })
}
