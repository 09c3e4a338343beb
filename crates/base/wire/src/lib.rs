//! The contracts: messages generated from `proto/`, as they are stored, sent through topics and spoken over gRPC.
//!
//! One set of types serves all three. A second set of plain structs beside it would have to be converted at every
//! border, and each conversion is a place to forget a field; what the domain knows of these messages (ids, money in
//! words, allowed moves, rendered issues) is in the crate `model`, as functions over them.
//!
//! Rules for a change: field numbers are for ever, a removed field's number is reserved, a new field's absence means
//! what was true before it. Golden files of stored messages hold old versions readable.
//!
//! Services are generated where they are served (`api/grpc.rs` of a flow crate), with these messages.

#![allow(clippy::all, clippy::pedantic, unreachable_pub)]

/// What all systems say of an offer.
pub mod model {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.model.v1.rs"));
    }
    pub use v1::*;
}

/// Changes of offers, and opinions on them.
pub mod offers {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.offers.v1.rs"));
    }
    pub use v1::*;
}

/// Loads on their way to the offers, and their results on the way back.
pub mod feeds {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.feeds.v1.rs"));
    }
    pub use v1::*;
}

/// Requests to the photo service, and its answers.
pub mod photos {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.photos.v1.rs"));
    }
    pub use v1::*;
}

/// The scheduler of offers: rows, and what it speaks with stages of other programs.
pub mod stages {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.stages.v1.rs"));
    }
    pub use v1::*;
}

/// `google.protobuf.Any`: a message of any type, named by the last part of `type_url`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Any {
    #[prost(string, tag = "1")]
    pub type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// Cards of offers.
pub mod snippets {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.snippets.v1.rs"));
    }
    pub use v1::*;
}

/// Businesses' offers with a part per shop, and who is told of which field.
pub mod united {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.united.v1.rs"));
    }
    pub use v1::*;
}

/// Silver and gold as they are stored.
pub mod silver {
    pub mod v1 {
        include!(concat!(env!("OUT_DIR"), "/dvor.silver.v1.rs"));
    }
    pub use v1::*;
}

/// All of `proto/` as a compiled descriptor set, for reflection and for snippets.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
