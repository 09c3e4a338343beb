//! What the domain knows of its data: pure functions and small types over the messages of `wire`.
//!
//! - [`OfferId`]: fifty bits, of which ten are the shard, printed as digits that a person can read over the phone.
//! - [`status`]: the states of an offer and the moves between them, in one place.
//! - [`money`]: minor units and their decimal texts.
//! - [`names`]: which texts may name a seller or a namespace.
//! - [`photo_order`]: in which order photos are shown.
//! - [`photo_url`]: how offers name a photo that their seller uploaded.
//! - [`fields`]: what a seller writes of an offer, each field described once.
//! - [`limits`]: how much an offer's fields may hold, for all who read, write or describe them.
//! - [`topics`]: the names of all topics, what they carry and by which key.
//! - [`erasure`]: the request to erase a seller.
//! - [`message`]: every code that a seller can be told, in English and Russian. Issues are stored and sent as a code with
//!   parameters, and become sentences only when somebody reads them, in the language of the reader.
//!
//! No I/O, no clock, no randomness: those who call bring them.

pub mod erasure;
pub mod fields;
pub mod limits;
pub mod message;
pub mod money;
pub mod names;
pub mod offer_id;
pub mod photo_order;
pub mod photo_url;
pub mod status;
pub mod topics;

pub use offer_id::{BadOfferId, OfferId};
pub use wire::model::{
    Attribute, Condition, Contacts, Content, Dimensions, Issue, IssueType, Level, Location, Money, Offer,
    Origin, Photo, PhotoSize, PhotoState, Status, Value, value,
};
pub use words::Language;
