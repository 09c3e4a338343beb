//! Every topic of the platform: its name, what it carries and by which key. Systems meet here and in no other place.
//!
//! Records of one key keep their order, and each has its effect in the shard of what its key names.

/// Batches and terminals of loads, from feeds to offers; key: the seller.
pub const FEED_OFFERS: &str = "feed.offers";
/// What became of a batch, from offers to feeds; key: the seller.
pub const FEED_RESULTS: &str = "feed.results";
/// What a person decided about a held load, from feeds to offers; key: the seller.
pub const FEED_DECISIONS: &str = "feed.decisions";

/// Every change of an offer; key: the offer's id as printed.
pub const OFFERS_CHANGES: &str = "offers.changes";
/// Sellers of whom nothing may stay, for all who keep something of theirs; key: the seller.
pub const OFFERS_ERASURES: &str = "offers.erasures";
/// Who wants to hear of all offers of a seller; key: the seller.
pub const OFFERS_FOLLOW: &str = "offers.follow";
/// Opinions of moderation on offers, from outside; key: the offer's id as printed.
pub const MODERATION_OPINIONS: &str = "moderation.opinions";

/// Photos that an offer wants, from offers to photos; key: the offer's id as printed.
pub const PHOTOS_REQUESTS: &str = "photos.requests";
/// What became of them, from photos to offers; key: the offer's id as printed.
pub const PHOTOS_RESULTS: &str = "photos.results";

/// What runs of stages saved, for those stages that want it; key: the offer's id as printed.
pub const STAGES_SAVED: &str = "stages.saved";
/// Points of prices for buckets in other shards; key: the offer's id as printed.
pub const STAGES_PRICE_POINTS: &str = "stages.price-points";

/// Offers of followed sellers, from offers to united; key: the business.
pub const UNITED_PARTS: &str = "united.parts";
/// Shipments of what changed, from united to silver; key: the business.
pub const UNITED_OFFERS: &str = "united.offers";
/// Offers on their way to another business; key: the business that the message is for.
pub const UNITED_MOVES: &str = "united.moves";
/// Requests for migration, from outside; key: the target business.
pub const MIGRATIONS_REQUESTS: &str = "migrations.requests";
/// Answers to requests for migration; key: the target business.
pub const MIGRATIONS_DONE: &str = "migrations.done";
/// SSKUs whose gold was made; key: the business.
pub const ERP_SSKU: &str = "erp.ssku";
