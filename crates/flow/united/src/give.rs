//! The source of a move: gives the offer away, and keeps what it sent until the target has it.

use prost::Message as _;
use store::{Read as _, Tx};
use topics::outbox;
use wire::united::r#move::Kind;
use wire::united::{MigrationRequest, MovedOffer, MovedRow, OfferRow};

use crate::moves::send;
use crate::tables::{GIVEN, MOVED, SHOPS};
use crate::write::Writing;
use crate::{Result, United};

/// Most bytes of a piece: what fits into a row of the outbox, with room for the request.
const MAX_PIECE_BYTES: usize = outbox::MAX_ROW_BYTES - (16 << 10);

/// Gives an offer away, or says why not. Asked again before the target has said that it has the offer, sends it again.
pub(crate) async fn give(united: &United, tx: &mut Tx, request: MigrationRequest) -> Result<()> {
    let (source, target) = (request.source_business_id, request.target_business_id);
    let shop_sku = request.shop_sku.clone();
    let mut writing = Writing::begin(united, tx, source, [shop_sku.clone()], []).await?;
    let offer = writing.row(&shop_sku)?.clone();
    if let Some(moved) = tx.get(&MOVED, (source, shop_sku.as_str())).await? {
        if moved.home == target && moved.request_id == request.request_id && moved.pieces > 0 {
            return give_again(tx, request, &moved).await;
        }
        return refuse(tx, request, "the source has given the offer away").await;
    }
    let live: Vec<u32> =
        offer.services.iter().filter(|(_, part)| !part.removed).map(|(shop, _)| *shop).collect();
    let is_own = offer.basic.as_ref().is_some_and(|basic| basic.own && !basic.removed);
    if live.is_empty() && !is_own {
        return refuse(tx, request, "the source has no such offer").await;
    }
    for shop in live {
        writing.remove(&shop_sku, shop)?;
    }
    writing.remove_basic(&shop_sku)?;
    writing.finish(tx).await?;
    let shops = offer.services.iter().filter(|(_, part)| part.epoch != 0);
    let shops = shops.map(|(shop, part)| (*shop, part.epoch)).collect();
    let pieces = pieces(&request, offer);
    let moved = MovedRow { home: target, shops, request_id: request.request_id, pieces: count(&pieces) };
    tx.put(&MOVED, (source, shop_sku.as_str()), &moved)?;
    for piece in pieces {
        tx.put(&GIVEN, (source, shop_sku.as_str(), piece.piece), &piece)?;
        send(tx, target, Kind::Answer(piece)).await?;
    }
    Ok(())
}

async fn refuse(tx: &mut Tx, request: MigrationRequest, note: &str) -> Result<()> {
    let (target, note) = (request.target_business_id, note.to_owned());
    let answer = MovedOffer { request: Some(request), note, pieces: 1, ..MovedOffer::default() };
    send(tx, target, Kind::Answer(answer)).await
}

/// Sends what was given for this request once more, without the parts that ended meanwhile: those who would end them at the target
/// have spoken already.
async fn give_again(tx: &mut Tx, request: MigrationRequest, moved: &MovedRow) -> Result<()> {
    let source = request.source_business_id;
    let rows = tx.get_many(&SHOPS, moved.shops.keys().map(|shop| (source, *shop))).await?;
    let mut ended = Vec::new();
    for ((shop, epoch), row) in moved.shops.iter().zip(rows) {
        if row.is_none_or(|row| row.gone || row.epoch != *epoch) {
            ended.push(*shop);
        }
    }
    for mut piece in tx.get_many(&GIVEN, keys(source, &request.shop_sku, moved)).await?.into_iter().flatten()
    {
        if let Some(offer) = &mut piece.offer {
            offer.services.retain(|shop, _| !ended.contains(shop));
        }
        send(tx, request.target_business_id, Kind::Answer(piece)).await?;
    }
    Ok(())
}

/// The target has the offer: what was sent is not needed any more.
pub(crate) async fn taken(tx: &mut Tx, request: MigrationRequest) -> Result<()> {
    let (source, shop_sku) = (request.source_business_id, request.shop_sku.as_str());
    let moved = tx.get(&MOVED, (source, shop_sku)).await?;
    let Some(moved) = moved.filter(|moved| moved.pieces > 0 && moved.request_id == request.request_id) else {
        return Ok(());
    };
    for key in keys(source, shop_sku, &moved) {
        tx.delete(&GIVEN, key)?;
    }
    Ok(tx.put(&MOVED, (source, shop_sku), &MovedRow { pieces: 0, ..moved })?)
}

/// A seller was erased while their part was on its way.
pub(crate) async fn erase_given(
    tx: &mut Tx,
    business: u32,
    shop_sku: &str,
    shop: u32,
    moved: &MovedRow,
) -> Result<()> {
    let sent = tx.get_many(&GIVEN, keys(business, shop_sku, moved)).await?;
    for (key, piece) in keys(business, shop_sku, moved).zip(sent) {
        let Some(mut piece) = piece else { continue };
        if piece.offer.get_or_insert_default().services.remove(&shop).is_some() {
            tx.put(&GIVEN, key, &piece)?;
        }
    }
    Ok(())
}

fn keys<'a>(
    business: u32,
    shop_sku: &'a str,
    moved: &MovedRow,
) -> impl Iterator<Item = (u32, &'a str, u32)> + use<'a> {
    (0..moved.pieces).map(move |piece| (business, shop_sku, piece))
}

fn count<T>(pieces: &[T]) -> u32 {
    u32::try_from(pieces.len()).unwrap_or(u32::MAX)
}

/// The offer in messages that the outbox takes, the basic part in the first; gold stays where it was made.
fn pieces(request: &MigrationRequest, offer: OfferRow) -> Vec<MovedOffer> {
    let mut pieces = vec![OfferRow { basic: offer.basic, ..OfferRow::default() }];
    let mut bytes = pieces[0].encoded_len();
    for (shop, part) in offer.services {
        let size = part.encoded_len() + 32;
        if bytes + size > MAX_PIECE_BYTES {
            pieces.push(OfferRow::default());
            bytes = 0;
        }
        bytes += size;
        if let Some(piece) = pieces.last_mut() {
            piece.services.insert(shop, part);
        }
    }
    let count = count(&pieces);
    let piece = |(piece, offer)| MovedOffer {
        request: Some(request.clone()),
        offer: Some(offer),
        note: String::new(),
        piece,
        pieces: count,
    };
    (0..).zip(pieces).map(piece).collect()
}
