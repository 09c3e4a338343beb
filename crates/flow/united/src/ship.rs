//! Shipments: what others are told of an offer, cut to what they subscribed to.

use prost::Message as _;
use store::Tx;
use topics::{Message, outbox};
use wire::united::{Offer, OfferRow, Part, UnitedOffer, UnitedOffersBatch};

use crate::Result;
use crate::subscription::{Keep, Subscriptions};

/// Most bytes of a message: what fits into a row of the outbox, with room for its key and tags.
const MAX_MESSAGE_BYTES: usize = outbox::MAX_ROW_BYTES - 1_024;

impl Subscriptions {
    /// A part as it is shipped.
    pub fn shipped_part(&self, part: &Part) -> Offer {
        let mut data = self.cut(part.data.as_ref().unwrap_or(&Offer::default()), Keep::Shipped);
        data.meta.get_or_insert_default().version = Some(part.version);
        data
    }

    /// An offer with those services that are asked for.
    pub fn shipped_offer(&self, row: &OfferRow, is_asked: impl Fn(u32) -> bool) -> UnitedOffer {
        let services = row.services.iter().filter(|(shop, _)| is_asked(**shop));
        UnitedOffer {
            basic: row.basic.as_ref().map(|part| self.shipped_part(part)),
            service: services.map(|(shop, part)| (*shop, self.shipped_part(part))).collect(),
        }
    }
}

/// Sends offers of a business, in as few messages as there can be.
pub(crate) async fn ship(tx: &mut Tx, business: u32, offers: Vec<UnitedOffer>) -> Result<()> {
    let key = business.to_string();
    let mut messages = Vec::new();
    let mut batch = UnitedOffersBatch::default();
    let mut bytes = 0;
    for offer in offers.into_iter().flat_map(pieces) {
        let size = offer.encoded_len() + 8;
        if bytes + size > MAX_MESSAGE_BYTES && !batch.offer.is_empty() {
            messages.push(Message::new(key.clone(), batch.encode_to_vec()));
            (batch.offer, bytes) = (Vec::new(), 0);
        }
        bytes += size;
        batch.offer.push(offer);
    }
    if !batch.offer.is_empty() {
        messages.push(Message::new(key, batch.encode_to_vec()));
    }
    outbox::send(tx, model::topics::UNITED_OFFERS, messages).await?;
    Ok(())
}

/// An offer of more services than a message has room for goes in pieces, each with the basic part.
fn pieces(offer: UnitedOffer) -> Vec<UnitedOffer> {
    if offer.encoded_len() < MAX_MESSAGE_BYTES {
        return vec![offer];
    }
    let empty = UnitedOffer { basic: offer.basic, ..UnitedOffer::default() };
    let mut pieces = Vec::new();
    let mut piece = empty.clone();
    for (shop, part) in offer.service {
        let is_full = piece.encoded_len() + part.encoded_len() + 16 > MAX_MESSAGE_BYTES;
        if is_full && !piece.service.is_empty() {
            pieces.push(std::mem::replace(&mut piece, empty.clone()));
        }
        piece.service.insert(shop, part);
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use wire::united::{OfferContent, OriginalSpecification, PartnerContent, StringValue};

    use super::*;

    #[test]
    fn an_offer_of_many_large_services_goes_in_pieces() {
        let name = StringValue { meta: None, value: Some("x".repeat(300_000)) };
        let original = OriginalSpecification { name: Some(name), ..Default::default() };
        let partner = PartnerContent { original: Some(original), original_terms: None };
        let content = Some(OfferContent { partner: Some(partner), master_data: None });
        let part = Offer { content, ..Offer::default() };
        let service = (1..=10).map(|shop| (shop, part.clone())).collect();
        let offer = UnitedOffer { basic: Some(part), service };
        let cut = pieces(offer.clone());
        assert!(cut.len() > 1);
        assert!(
            cut.iter().all(|piece| piece.encoded_len() <= MAX_MESSAGE_BYTES && piece.basic == offer.basic)
        );
        let shops: Vec<_> = cut.iter().flat_map(|piece| piece.service.keys().copied()).collect();
        assert_eq!(shops, (1..=10).collect::<Vec<_>>());
        let small = UnitedOffer::default();
        assert_eq!(pieces(small.clone()), [small]);
    }
}
