//! Records of topics as people read them: our own messages by their descriptors, others as JSON, text or base64.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use model::OfferId;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;

/// Which message each of our topics carries.
const MESSAGES: [(&str, &str); 14] = [
    (model::topics::OFFERS_CHANGES, "dvor.offers.v1.OfferChange"),
    (model::topics::MODERATION_OPINIONS, "dvor.offers.v1.Opinion"),
    (model::topics::PHOTOS_REQUESTS, "dvor.photos.v1.PhotoRequest"),
    (model::topics::PHOTOS_RESULTS, "dvor.photos.v1.PhotoResult"),
    (model::topics::FEED_OFFERS, "dvor.feeds.v1.FeedMessage"),
    (model::topics::FEED_RESULTS, "dvor.feeds.v1.FeedResult"),
    (model::topics::FEED_DECISIONS, "dvor.feeds.v1.FeedDecision"),
    (model::topics::OFFERS_ERASURES, "dvor.offers.v1.SellerErasure"),
    (model::topics::UNITED_OFFERS, "dvor.united.v1.UnitedOffersBatch"),
    (model::topics::UNITED_PARTS, "dvor.offers.v1.FollowedOffers"),
    (model::topics::UNITED_MOVES, "dvor.united.v1.Move"),
    (model::topics::MIGRATIONS_REQUESTS, "dvor.united.v1.MigrationRequest"),
    (model::topics::MIGRATIONS_DONE, "dvor.united.v1.MigrationDone"),
    (model::topics::ERP_SSKU, "dvor.silver.v1.ErpSsku"),
];

/// The payload as text.
pub(crate) fn payload(topic: &str, bytes: &[u8]) -> String {
    let value = message(topic, bytes).or_else(|| serde_json::from_slice(bytes).ok());
    if let Some(text) = value.and_then(|value| serde_json::to_string_pretty(&value).ok()) {
        return text;
    }
    std::str::from_utf8(bytes).map_or_else(|_| BASE64_STANDARD.encode(bytes), str::to_owned)
}

/// A record of one of our topics as JSON, with the names of its fields as `proto/` has them and offers' ids as people see
/// them.
pub fn message(topic: &str, bytes: &[u8]) -> Option<Value> {
    let message = DynamicMessage::decode(descriptor(topic)?, bytes).ok()?;
    let options = SerializeOptions::new().use_proto_field_name(true);
    let mut value = message.serialize_with_options(serde_json::value::Serializer, &options).ok()?;
    print_ids(&mut value, false);
    Some(value)
}

/// Offers' ids are numbers on the wire.
fn print_ids(value: &mut Value, in_offer: bool) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_id = name == "offer_id" || (in_offer && name == "id");
                let raw = value.as_str().filter(|_| is_id).and_then(|text| text.parse().ok());
                match raw.and_then(OfferId::from_raw) {
                    Some(id) => *value = Value::from(id.to_string()),
                    None => print_ids(value, name == "offer"),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| print_ids(value, in_offer)),
        _ => {}
    }
}

fn descriptor(topic: &str) -> Option<MessageDescriptor> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    let (_, name) = MESSAGES.iter().find(|(known, _)| *known == topic)?;
    let pool = POOL.get_or_init(|| DescriptorPool::decode(wire::DESCRIPTORS).ok());
    pool.as_ref()?.get_message_by_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_of_ours_has_its_message() {
        for (topic, name) in MESSAGES {
            assert_eq!(descriptor(topic).unwrap().full_name(), name, "{topic}");
        }
    }

    #[test]
    fn ids_of_offers_are_printed_as_ids() {
        let id = OfferId::from_raw(12_345).unwrap();
        let offer = wire::model::Offer { id: id.raw(), ..Default::default() };
        let change = wire::offers::OfferChange { offer: Some(offer), ..Default::default() };
        let value = message(model::topics::OFFERS_CHANGES, &prost::Message::encode_to_vec(&change)).unwrap();
        assert_eq!(value["offer"]["id"], id.to_string());
    }

    #[test]
    fn what_is_no_message_is_still_shown() {
        assert_eq!(payload("other", b"{\"a\":1}"), "{\n  \"a\": 1\n}");
        assert_eq!(payload("other", b"text"), "text");
        assert_eq!(payload("other", &[0xff, 0]), "/wA=");
    }
}
