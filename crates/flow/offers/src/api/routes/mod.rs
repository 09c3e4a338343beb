mod acts;
mod drafts;
mod judged;
mod offers;
mod seller_data;
mod sellers;

use utoipa_axum::router::OpenApiRouter;

use super::body::Body;
use super::call::{Call, etag, idempotency_key, if_match, require_seller};
use super::docs::{IdempotencyKey, Reading, Writing};
use super::json::{OfferJson, Reader};
use crate::Offers;

/// Every route of the offers.
pub fn routes() -> OpenApiRouter<Offers> {
    OpenApiRouter::new()
        .merge(offers::routes())
        .merge(acts::routes())
        .merge(judged::routes())
        .merge(sellers::routes())
        .merge(drafts::routes())
        .merge(seller_data::routes())
        .merge(super::fsck::routes())
}

impl Call {
    fn reader<'a>(&self, offers: &'a Offers) -> Reader<'a> {
        Reader { catalog: &offers.catalog, language: self.language }
    }

    fn show(&self, offers: &Offers, offer: &model::Offer) -> OfferJson {
        OfferJson::of(offer, self.reader(offers))
    }
}
