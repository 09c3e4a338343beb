//! What is known of a part without looking into its content.

use wire::united::{Colour, Flag, Offer, OfferIdentifiers, OfferMeta, OfferStatus, Part};

use crate::{Error, Result};

/// Largest part; a part and its basic one fit into one message together.
pub const MAX_PART_BYTES: usize = 400 << 10;
/// A seller's own id may have 256 bytes, and its namespace 71 in front of it.
pub const MAX_SHOP_SKU_BYTES: usize = 512;

pub fn check_shop_sku(text: &str) -> Result<(), Error> {
    let sane = !text.is_empty() && text.len() <= MAX_SHOP_SKU_BYTES && !text.chars().any(char::is_control);
    let problem = || {
        let limit = MAX_SHOP_SKU_BYTES;
        Error::Invalid(format!("a shop's id of an offer has 1 to {limit} bytes and no control characters"))
    };
    if sane { Ok(()) } else { Err(problem()) }
}

/// Which version of which of a seller's offers a part is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edition {
    pub offer_id: i64,
    pub made_at: i64,
    pub version: i64,
}

impl Edition {
    pub fn of(offer: &model::Offer) -> Self {
        Self { offer_id: offer.id, made_at: offer.created_at, version: offer.version }
    }

    pub(crate) fn of_part(part: &Part) -> Self {
        Self { offer_id: part.offer_id, made_at: part.offer_made_at, version: part.offer_version }
    }

    /// Versions begin anew with every offer, so they say something within one offer only. Of two offers that had the same
    /// id one after the other, the later made one counts; what the earlier one says after that is late.
    pub(crate) fn is_newer_than(self, known: Self) -> bool {
        if self.offer_id == known.offer_id {
            return self.version > known.version;
        }
        self.made_at >= known.made_at
    }

    pub(crate) fn is_older_than(self, known: Self) -> bool {
        if self.offer_id == known.offer_id {
            return self.version < known.version;
        }
        self.made_at < known.made_at
    }
}

pub(crate) fn updated_at(part: &Part) -> i64 {
    part.data.as_ref().and_then(|data| data.meta).and_then(|meta| meta.updated_at).unwrap_or(0)
}

/// When a subscribed field was changed last: what nobody hears of makes no part the newest.
pub(crate) fn changed_at(part: &Part) -> i64 {
    if part.changed_at == 0 { updated_at(part) } else { part.changed_at }
}

/// Says in the data what the row says of it.
pub(crate) fn mark_removed(data: &mut Offer, removed: bool) {
    let status = data.status.get_or_insert_default();
    status.removed = removed.then_some(Flag { meta: None, flag: Some(true) });
    status.erased = None;
    if *status == OfferStatus::default() {
        data.status = None;
    }
}

/// The data of a part as it is kept: under its own key, without what united itself says.
pub(crate) fn settle(
    mut data: Offer,
    business: u32,
    shop_sku: &str,
    shop: Option<u32>,
    colour: Option<Colour>,
) -> Offer {
    data.identifiers = Some(OfferIdentifiers {
        business_id: Some(business),
        offer_id: Some(shop_sku.to_owned()),
        shop_id: shop,
    });
    let meta = data.meta.get_or_insert_with(OfferMeta::default);
    meta.version = None;
    if let Some(colour) = colour {
        meta.rgb = Some(colour.into());
    }
    if let Some(content) = &mut data.content {
        content.master_data = None;
    }
    data
}
