//! Records of topics as people read them: our own messages by their descriptors, others as JSON, text or base64.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

/// Which message each of our topics carries.
const MESSAGES: [(&str, &str); 14] = [
    (offers::CHANGES_TOPIC, "dvor.offers.v1.OfferChange"),
    (offers::OPINIONS_TOPIC, "dvor.offers.v1.Opinion"),
    (offers::PHOTO_REQUESTS_TOPIC, "dvor.photos.v1.PhotoRequest"),
    (offers::PHOTO_RESULTS_TOPIC, "dvor.photos.v1.PhotoResult"),
    (feeds::FEED_OFFERS_TOPIC, "dvor.feeds.v1.FeedMessage"),
    (feeds::FEED_RESULTS_TOPIC, "dvor.feeds.v1.FeedResult"),
    (feeds::FEED_DECISIONS_TOPIC, "dvor.feeds.v1.FeedDecision"),
    (offers::ERASURES_TOPIC, "dvor.offers.v1.SellerErasure"),
    (united::OFFERS_TOPIC, "dvor.united.v1.UnitedOffersBatch"),
    (united::PARTS_TOPIC, "dvor.offers.v1.FollowedOffers"),
    (united::MOVES_TOPIC, "dvor.united.v1.Move"),
    (united::MIGRATIONS_TOPIC, "dvor.united.v1.MigrationRequest"),
    (united::MIGRATIONS_DONE_TOPIC, "dvor.united.v1.MigrationDone"),
    (silver::ERP_TOPIC, "dvor.silver.v1.ErpSsku"),
];

/// The payload as text.
pub(crate) fn payload(topic: &str, bytes: &[u8]) -> String {
    if let Some(message) = descriptor(topic).and_then(|kind| DynamicMessage::decode(kind, bytes).ok())
        && let Ok(text) = serde_json::to_string_pretty(&message)
    {
        return text;
    }
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes)
        && let Ok(text) = serde_json::to_string_pretty(&value)
    {
        return text;
    }
    std::str::from_utf8(bytes).map_or_else(|_| BASE64_STANDARD.encode(bytes), str::to_owned)
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
    fn what_is_no_message_is_still_shown() {
        assert_eq!(payload("other", b"{\"a\":1}"), "{\n  \"a\": 1\n}");
        assert_eq!(payload("other", b"text"), "text");
        assert_eq!(payload("other", &[0xff, 0]), "/wA=");
    }
}
