//! The basic part: what the shops of a business have in common is what the newest of them says.

use wire::united::{Offer, OfferRow, Part};

use crate::parts::{changed_at, mark_removed, updated_at};

/// What the basic part is to be: a copy of the live service with the greatest (changed_at, shop), unless it was written as
/// such and is newer. Depends on the parts alone, not on the order in which they came.
pub(crate) fn basic_data(row: &OfferRow) -> Option<(Offer, Origin)> {
    let rank = |(shop, part): &(&u32, &Part)| (changed_at(part), **shop);
    let newest = row.services.iter().filter(|(_, part)| !part.removed).max_by_key(rank);
    let own = row.basic.as_ref().filter(|basic| basic.own && !basic.removed);
    match (own, newest) {
        (Some(own), Some((_, part))) if updated_at(own) >= changed_at(part) => {
            Some((own.data.clone().unwrap_or_default(), Origin::Own))
        }
        (_, Some((_, part))) => Some((copy(part), Origin::Service)),
        (Some(own), None) => Some((own.data.clone().unwrap_or_default(), Origin::Own)),
        // The last live one is gone: what was said last stays, marked.
        (None, None) => {
            let last = row.services.iter().max_by_key(rank).map(|(_, part)| copy(part));
            let mut data = last.or_else(|| row.basic.as_ref()?.data.clone())?;
            mark_removed(&mut data, true);
            Some((data, Origin::Gone))
        }
    }
}

/// What the basic part is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Own,
    Service,
    Gone,
}

/// A service's data without what is the shop's alone.
fn copy(part: &Part) -> Offer {
    let mut data = part.data.clone().unwrap_or_default();
    data.price = None;
    if let Some(identifiers) = &mut data.identifiers {
        identifiers.shop_id = None;
    }
    if let Some(meta) = &mut data.meta {
        meta.rgb = None;
    }
    if let Some(status) = &mut data.status {
        status.published = None;
    }
    data
}
