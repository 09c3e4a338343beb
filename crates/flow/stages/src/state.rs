//! States that are read and written from outside of a run: the answer of long work comes this way.

use model::OfferId;
use offers::Offers;
use offers::read::shard_of;
use offers::stages::Pairs;
use offers::stages::tables::PAIRS;
use offers::tables::{CONTENT, OFFER};
use store::{Encode as _, Read as _, Tx};
use wire::Any;
use wire::stages::PairRow;

use crate::pair::{self, MAX_STATE_BYTES};
use crate::wishes::head;
use crate::{Error, Result};

/// The state that a stage keeps beside an offer, with its version; none has the version 0.
pub(crate) async fn read(offers: &Offers, stage: &str, offer: OfferId) -> Result<(Option<Any>, i64)> {
    let pair = offers.store.get(&PAIRS, shard_of(offer), (offer.raw(), stage)).await?;
    Ok(pair.map_or((None, 0), |pair| (pair.state.clone(), version(&pair))))
}

/// Writes a state if it still has this version, and lets the stage run. `false`: it has another one.
pub(crate) async fn update(
    offers: &Offers,
    stage: &str,
    offer: OfferId,
    state: Any,
    expected: i64,
) -> Result<bool> {
    if prost::Message::encoded_len(&state) > MAX_STATE_BYTES {
        return Err(Error::Invalid(format!("a state has at most {MAX_STATE_BYTES} bytes")));
    }
    let update = async |tx: &mut Tx| {
        let content = tx.get_many_raw(tx.id(&OFFER)?, vec![(offer.raw(), CONTENT).encode()?]).await?;
        if content[0].is_none() {
            return Err(Error::Offers(offers::Error::NoOffer(offer)));
        }
        let stored = tx.get(&PAIRS, (offer.raw(), stage)).await?;
        let before = stored.clone().unwrap_or_default();
        if version(&before) != expected {
            return Ok(false);
        }
        let now = offers.clock.now();
        let turn = head(tx, stage).await?.unwrap_or(0);
        let mut after = pair::retried(&before, now, turn);
        pair::put_state(&mut after, Some(state.clone()), now);
        let mut pairs = Pairs::default();
        pairs.keep(tx, (offer.raw(), stage), stored.as_ref(), &after)?;
        pairs.finish(tx).await?;
        Ok(true)
    };
    offers.store.transact(shard_of(offer), update).await
}

fn version(pair: &PairRow) -> i64 {
    if pair.state.is_some() { pair.state_version } else { 0 }
}
