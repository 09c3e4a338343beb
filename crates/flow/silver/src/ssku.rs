//! An SSKU on its way through the steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wire::silver::{Part, PartVersion, SskuRow};
use wire::united::Colour;

/// Names an SSKU: a business and the id that its shops gave to the offer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub business: u32,
    pub shop_sku: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.business, self.shop_sku)
    }
}

/// The basic part where a shop is asked for: no shop has this number.
pub const BASIC: u32 = 0;

/// An offer in parameters, as it came or as it is merged.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonSsku {
    pub key: Key,
    pub basic: Option<Part>,
    /// By shop.
    pub services: BTreeMap<u32, Part>,
    /// Parts of an erased seller: nothing of them stays.
    pub erased: BTreeSet<u32>,
}

impl CommonSsku {
    pub fn new(key: Key) -> Self {
        Self { key, basic: None, services: BTreeMap::new(), erased: BTreeSet::new() }
    }

    /// All parts with their shops; the basic one as shop 0.
    pub fn parts(&self) -> impl Iterator<Item = (u32, &Part)> {
        let services = self.services.iter().map(|(shop, part)| (*shop, part));
        self.basic.iter().map(|part| (BASIC, part)).chain(services)
    }

    pub fn versions(&self) -> Vec<PartVersion> {
        self.parts().map(|(shop_id, part)| PartVersion { shop_id, version: part.version }).collect()
    }

    /// The greatest of its parts.
    pub fn version(&self) -> i64 {
        self.parts().map(|(_, part)| part.version).max().unwrap_or(0)
    }
}

/// Where a silver record comes from, and how far it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceType {
    Supplier,
    /// Every service is sold by the shop itself; such offers are worse as a rule.
    Dbs,
}

impl SourceType {
    pub const EVERY: [Self; 2] = [Self::Supplier, Self::Dbs];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Supplier => "SUPPLIER",
            Self::Dbs => "DBS",
        }
    }
}

/// The only source of silver records.
pub const SOURCE_ID: &str = "DATACAMP";

/// Whether we keep services of this colour.
pub fn is_supported(colour: Colour) -> bool {
    matches!(colour, Colour::Blue | Colour::Dbs)
}

/// Whether the parts say the same, whatever their versions.
pub fn same_data(one: &Part, other: &Part) -> bool {
    one.removed == other.removed && one.colour == other.colour && one.value == other.value
}

/// A service that left: its version, so that nothing older brings it back, and none of its values.
pub fn removal(part: &Part) -> Part {
    Part { value: Vec::new(), removed: true, ..*part }
}

/// The shops in which an SSKU exists: live services of an offer that is not removed as a whole.
pub fn existing_shops(row: &SskuRow) -> impl Iterator<Item = u32> {
    let is_gone = row.basic.as_ref().is_some_and(|basic| basic.removed);
    let live = row.services.iter().filter(move |(_, part)| !part.removed && !is_gone);
    live.map(|(shop, _)| *shop)
}
