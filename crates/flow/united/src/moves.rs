//! An offer moves to another business.
//!
//! ```text
//! target: row `migrations` (asked) ──united.moves──▶ source, one transaction: services marked as removed, row `moved`,
//!    │                                               the whole offer into the outbox
//!    ▼                                                  │ united.moves
//! target: merge, ship always, row `migrations_open` ◀───┘
//!    ▼ united.offers
//! silver of the target has seen every part that moved ──▶ `migrations.done`, once
//! ```
//!
//! Each arrow is an outbox row of the transaction before it, and each step is known when it is repeated: a request by its
//! id, an answer by the request's state. A crash anywhere leaves the rows of a step with its message, or neither. What reaches the
//! source later is forwarded in the same order; what was sent is kept there until the target has it (`united.given`); an offer lives in one business at any moment, and on its way in the outbox.

use std::collections::BTreeMap;

use async_trait::async_trait;
use kit::Timestamp;
use prost::Message as _;
use store::{Read as _, Shard, Tx};
use topics::consume::{Failure, Gap, Handler, Undecodable};
use topics::{Message, Record, outbox};
use wire::united::r#move::Kind;
use wire::united::{
    MigrationRequest, MigrationRow, MigrationState, Move, MovedOffer, OfferRow, OpenMigrations, ServicePart,
};

use crate::give::{give, taken};
use crate::lost::{ask_again, refill_movers};
use crate::migrations::answer;
use crate::parts::updated_at;
use crate::tables::{CLOCK, MIGRATIONS, MIGRATIONS_OPEN, MOVED, OFFERS, SHOPS, shard_of};
use crate::write::{ServiceWrite, Source, Writing};
use crate::{Edition, Error, Result, United, check_shop_sku};

const MAX_REQUEST_ID_BYTES: usize = 128;
/// The basic part where a shop is asked for: no shop has this number.
const BASIC: u32 = 0;

/// The consumer of [`model::topics::MIGRATIONS_REQUESTS`].
pub struct Requests(pub United);

#[async_trait]
impl Handler for Requests {
    type Message = MigrationRequest;

    fn decode(&self, record: &Record) -> Result<(Shard, MigrationRequest), Undecodable> {
        let request = MigrationRequest::decode(record.payload.clone())
            .map_err(|error| Undecodable(error.to_string()))?;
        check(&request).map_err(|error| Undecodable(error.to_string()))?;
        Ok((shard_of(request.target_business_id), request))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<MigrationRequest>) -> Result<(), Failure> {
        let keys = messages.iter().map(|request| (request.target_business_id, request.request_id.clone()));
        tx.prefetch(&MIGRATIONS, keys.collect::<Vec<_>>()).await?;
        for request in messages {
            ask(tx, request, self.0.clock.now()).await?;
        }
        Ok(())
    }
}

/// The consumer of [`model::topics::UNITED_MOVES`].
pub struct Moves(pub United);

#[async_trait]
impl Handler for Moves {
    type Message = Kind;

    fn decode(&self, record: &Record) -> Result<(Shard, Kind), Undecodable> {
        let kind = read(&record.payload).map_err(Undecodable)?;
        Ok((shard_of(business_of(&kind)), kind))
    }

    async fn apply(&self, tx: &mut Tx, messages: Vec<Kind>) -> Result<(), Failure> {
        prefetch(tx, &messages).await?;
        for kind in messages {
            Box::pin(take(&self.0, tx, kind)).await?;
        }
        Ok(())
    }

    async fn gap(&self, gap: &Gap) -> Result<(), Failure> {
        let asked = ask_again(&self.0, gap).await?;
        let shops = refill_movers(&self.0, gap).await?;
        tracing::error!(asked, shops, %gap, "moves were lost: they are asked for again, and their shops filled anew");
        Ok(())
    }
}

pub fn read(payload: &[u8]) -> Result<Kind, String> {
    let kind =
        Move::decode(payload).map_err(|error| error.to_string())?.kind.ok_or("a move that says nothing")?;
    match &kind {
        Kind::Question(request) | Kind::Taken(request) => check(request),
        Kind::Answer(answer) => check(&answer.request.clone().unwrap_or_default()),
        Kind::Forwarded(part) => check_shop_sku(&part.shop_sku),
    }
    .map_err(|error| error.to_string())?;
    Ok(kind)
}

/// Where a move has its effect.
pub fn business_of(kind: &Kind) -> u32 {
    match kind {
        Kind::Question(request) | Kind::Taken(request) => request.source_business_id,
        Kind::Answer(answer) => answer.request.as_ref().map_or(0, |request| request.target_business_id),
        Kind::Forwarded(part) => part.business_id,
    }
}

pub fn check(request: &MigrationRequest) -> Result<()> {
    let id = &request.request_id;
    if !(1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) || id.chars().any(char::is_control) {
        let limit = MAX_REQUEST_ID_BYTES;
        return Err(Error::Invalid(format!(
            "a request's id has 1 to {limit} bytes and no control characters"
        )));
    }
    let (source, target) = (request.source_business_id, request.target_business_id);
    if source == 0 || target == 0 || source == target {
        return Err(Error::Invalid("an offer moves from one business to another".to_owned()));
    }
    check_shop_sku(&request.shop_sku)
}

impl United {
    /// Asks for an offer of another business; asking again under the same id changes nothing.
    pub async fn migrate(&self, request: MigrationRequest) -> Result<MigrationRow> {
        check(&request)?;
        let (target, id) = (request.target_business_id, request.request_id.clone());
        let transaction = async |tx: &mut Tx| ask(tx, request, self.clock.now()).await;
        self.store.transact(shard_of(target), transaction).await?;
        let row = self.store.get(&MIGRATIONS, shard_of(target), (target, id.as_str())).await?;
        row.ok_or_else(|| Error::NotFound(format!("there is no migration {id}")))
    }
}

/// Reads what these moves will ask for, in as many questions as there are tables.
async fn prefetch(tx: &mut Tx, moves: &[Kind]) -> Result<()> {
    let (mut offers, mut shops, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    for kind in moves {
        match kind {
            Kind::Question(request) | Kind::Taken(request) => {
                offers.push((request.source_business_id, request.shop_sku.clone()));
            }
            Kind::Answer(moved) => {
                let request = moved.request.clone().unwrap_or_default();
                let services = moved.offer.iter().flat_map(|offer| offer.services.keys());
                shops.extend(services.map(|shop| (request.target_business_id, *shop)));
                offers.push((request.target_business_id, request.shop_sku));
                requests.push((request.target_business_id, request.request_id));
            }
            Kind::Forwarded(part) => {
                offers.push((part.business_id, part.shop_sku.clone()));
                shops.push((part.business_id, part.shop_id));
            }
        }
    }
    tx.prefetch(&CLOCK, offers.iter().map(|(business, _)| (*business,))).await?;
    tx.prefetch(&MOVED, offers.clone()).await?;
    tx.prefetch(&MIGRATIONS_OPEN, offers.clone()).await?;
    tx.prefetch(&OFFERS, offers).await?;
    tx.prefetch(&SHOPS, shops).await?;
    tx.prefetch(&MIGRATIONS, requests).await?;
    Ok(())
}

/// The target notes the request and asks the source.
pub async fn ask(tx: &mut Tx, request: MigrationRequest, now: Timestamp) -> Result<()> {
    let key = (request.target_business_id, request.request_id.as_str());
    if tx.get(&MIGRATIONS, key).await?.is_some() {
        return Ok(());
    }
    let mut row = MigrationRow {
        shop_sku: request.shop_sku.clone(),
        source_business_id: request.source_business_id,
        asked_at: now.0,
        ..MigrationRow::default()
    };
    row.set_state(MigrationState::Asked);
    tx.put(&MIGRATIONS, key, &row)?;
    send(tx, request.source_business_id, Kind::Question(request)).await
}

/// Does what a move asks for.
pub async fn take(united: &United, tx: &mut Tx, kind: Kind) -> Result<()> {
    match kind {
        Kind::Question(request) => give(united, tx, request).await,
        Kind::Answer(answer) => settle(united, tx, answer).await,
        Kind::Forwarded(part) => forwarded(united, tx, part).await,
        Kind::Taken(request) => taken(tx, request).await,
    }
}

/// The target takes the offer, or hears that there is none. Of a large one it takes piece after piece; should one be missing, it
/// waits until all come again ([`crate::lost`]).
async fn settle(united: &United, tx: &mut Tx, moved: MovedOffer) -> Result<()> {
    let MovedOffer { request, offer, note, piece, pieces } = moved;
    let request = request.unwrap_or_default();
    let (target, shop_sku) = (request.target_business_id, request.shop_sku.as_str());
    let key = (target, request.request_id.as_str());
    let Some(mut row) = tx.get(&MIGRATIONS, key).await?.filter(|row| row.state() == MigrationState::Asked)
    else {
        return Ok(());
    };
    row.note = note;
    let Some(offer) = offer else {
        tx.put(&MIGRATIONS, key, &row)?;
        let request_id = vec![request.request_id.clone()];
        let open = OpenMigrations { request_id, ..OpenMigrations::default() };
        return answer_alone(tx, target, shop_sku, &open, united.clock.now()).await;
    };
    if piece != 0 && piece != row.pieces {
        return Ok(());
    }
    row.pieces = piece + 1;
    let is_last = row.pieces >= pieces;
    let parts = merge(united, tx, target, shop_sku, offer, is_last).await?;
    if is_last {
        // It is at home here, wherever it was before.
        tx.delete(&MOVED, (target, shop_sku))?;
        row.set_state(MigrationState::Shipped);
        row.version = parts.values().copied().max().unwrap_or(0);
        let mut open = tx.get(&MIGRATIONS_OPEN, (target, shop_sku)).await?.unwrap_or_default();
        open.request_id.push(request.request_id.clone());
        open.version = open.version.max(row.version);
        open.parts = parts;
        tx.put(&MIGRATIONS_OPEN, (target, shop_sku), &open)?;
    }
    tx.put(&MIGRATIONS, key, &row)?;
    if is_last {
        send(tx, request.source_business_id, Kind::Taken(request)).await?;
    }
    Ok(())
}

/// Answers a request that waits for nobody, and leaves others that do.
async fn answer_alone(
    tx: &mut Tx,
    business: u32,
    shop_sku: &str,
    open: &OpenMigrations,
    now: Timestamp,
) -> Result<()> {
    let others = tx.get(&MIGRATIONS_OPEN, (business, shop_sku)).await?;
    answer(tx, business, shop_sku, open, now).await?;
    if let Some(others) = others {
        tx.put(&MIGRATIONS_OPEN, (business, shop_sku), &others)?;
    }
    Ok(())
}

/// Takes over every service that says something newer than ours; when all are here, ships the offer whole. Returns the versions of
/// its parts. Of an offer that comes home, the services of shops that are still mapped live again.
async fn merge(
    united: &United,
    tx: &mut Tx,
    target: u32,
    shop_sku: &str,
    offer: OfferRow,
    is_whole: bool,
) -> Result<BTreeMap<u32, i64>> {
    let left = tx.get(&MOVED, (target, shop_sku)).await?;
    let left = left.as_ref();
    let returns = left.is_some();
    let shops: Vec<u32> = offer.services.keys().copied().collect();
    let mut writing = Writing::begin(united, tx, target, [shop_sku.to_owned()], shops).await?;
    for (shop, part) in offer.services {
        // What went after the offer while it was away is our shop's still, or was ended meanwhile.
        let forwarded = left.and_then(|left| left.shops.get(&shop).copied());
        let is_newer = match writing.row(shop_sku)?.services.get(&shop) {
            None => forwarded.is_none_or(|epoch| writing.is_current(shop, epoch)),
            // What is back was taken along when it left, and nobody wrote it here meanwhile.
            Some(ours) if ours.epoch == 0 && returns && ours.removed => true,
            Some(ours) if ours.epoch == 0 => updated_at(&part) > updated_at(ours),
            Some(ours) => {
                let is_ours = returns && writing.is_current(shop, ours.epoch);
                is_ours && ours.removed && !Edition::of_part(&part).is_older_than(Edition::of_part(ours))
            }
        };
        if is_newer {
            let source = Source::Mover { edition: Edition::of_part(&part) };
            let (data, removed) = (part.data.unwrap_or_default(), part.removed);
            let is_new = !writing.row(shop_sku)?.services.contains_key(&shop);
            writing.service(ServiceWrite { shop_sku: shop_sku.to_owned(), shop, source, removed, data })?;
            if let (true, Some(epoch)) = (is_new, forwarded) {
                writing.renew(shop_sku, shop, epoch)?;
            }
        }
    }
    if let Some(basic) = offer.basic.filter(|basic| basic.own && !basic.removed) {
        writing.basic(shop_sku, basic.data.unwrap_or_default())?;
    }
    if is_whole {
        writing.ship_whole(shop_sku)?;
    }
    let row = writing.row(shop_sku)?;
    let services = row.services.iter().map(|(shop, part)| (*shop, part.version));
    let versions = row.basic.iter().map(|part| (BASIC, part.version)).chain(services).collect();
    writing.finish(tx).await?;
    Ok(versions)
}

/// A part that came to the former home; it may have to go on.
async fn forwarded(united: &United, tx: &mut Tx, part: ServicePart) -> Result<()> {
    let business = part.business_id;
    if let Some(moved) = tx.get(&MOVED, (business, part.shop_sku.as_str())).await? {
        if part.erased {
            // What was left here when the offer went on is the erased seller's too.
            let mut writing = Writing::begin(united, tx, business, [part.shop_sku.clone()], []).await?;
            let is_theirs = writing.row(&part.shop_sku)?.services.get(&part.shop_id);
            if is_theirs.is_some_and(|ours| ours.epoch == 0) {
                writing.erase(&part.shop_sku, part.shop_id)?;
            }
            writing.finish(tx).await?;
        }
        return forward(tx, ServicePart { business_id: moved.home, ..part }).await;
    }
    let edition =
        Edition { offer_id: part.offer_id, made_at: part.offer_made_at, version: part.offer_version };
    let ServicePart { shop_sku, shop_id: shop, removed, erased, data, .. } = part;
    let mut writing = Writing::begin(united, tx, business, [shop_sku.clone()], [shop]).await?;
    let is_theirs = writing.row(&shop_sku)?.services.get(&shop).is_none_or(|part| part.epoch == 0);
    let from = data.as_ref().and_then(|data| data.identifiers.as_ref()?.business_id);
    if let (Some(data), true) = (&data, from == Some(business)) {
        // It went after an offer that is back by now: as if it had just come from its seller.
        let epoch = writing.row(&shop_sku)?.services.get(&shop).map_or(0, |ours| ours.epoch);
        let (source, data) = (Source::Follower { epoch, edition }, data.clone());
        writing.service(ServiceWrite { shop_sku, shop, source, removed, data })?;
    } else if erased && is_theirs {
        writing.erase(&shop_sku, shop)?;
    } else if let (Some(data), true) = (data, is_theirs) {
        let source = Source::Mover { edition };
        writing.service(ServiceWrite { shop_sku, shop, source, removed, data })?;
    } else if removed && edition.offer_id != 0 {
        writing.leave(&shop_sku, shop, edition.offer_id)?;
    } else if removed && is_theirs {
        writing.remove(&shop_sku, shop)?;
    }
    writing.finish(tx).await
}

/// Sends a part on to where its offer lives.
pub(crate) async fn forward(tx: &mut Tx, part: ServicePart) -> Result<()> {
    send(tx, part.business_id, Kind::Forwarded(part)).await
}

pub(crate) async fn send(tx: &mut Tx, business: u32, kind: Kind) -> Result<()> {
    let message = Message::new(business.to_string(), Move { kind: Some(kind) }.encode_to_vec());
    outbox::send(tx, model::topics::UNITED_MOVES, vec![message]).await?;
    Ok(())
}
