//! Where things are: from an address as people write it, or from coordinates, to a place with a stable id.
//!
//! The places are 45 thousand towns and villages of GeoNames (CC BY 4.0, see [`ATTRIBUTION`]): the countries of the
//! former USSR down to 500 people, the rest of the world down to 15 thousand. They are compiled into the program, packed
//! by `cargo run -p dvor-geo --example pack`; a place's id is its GeoNames id.
//!
//! [`Places::find_text`] folds the address (crate `words`), cuts it at commas, sets aside what belongs to a street, and
//! looks up the longest runs of words: first as they stand, then without their endings («в Новосибирске»), and, when nothing
//! was found at all, with one letter wrong. Regions and countries in the address are not places; they decide between
//! places of one name. After that the word before it («г.», «село») decides, then the number of people. A place
//! outside of the former USSR needs its country named or 100 thousand people, because its name may be anything's.
//! Two places that nothing decides between are [`Answer::Ambiguous`], never a guess.
//!
//! [`Places::nearest`] finds the place whose edge is nearest; the radius of a place follows from its population. So a suburb is itself and is not swallowed by the city beside it, and a village in the fields is not
//! swallowed by the city an hour away.
//!
//! Guarantees: the same text gives the same answer on every machine; no I/O, no locks; any text is answered in
//! bounded time.
//!
//! Not done here: streets and houses, metro stations, districts of a city.

mod find;
mod index;
mod nearest;
mod pack;
mod places;
mod text;

pub use find::Answer;
pub use pack::{Error, pack};
pub use places::{Country, Place, Places, Region};

/// What must be said wherever the places are shown as a data set.
pub const ATTRIBUTION: &str =
    "Contains data from GeoNames (geonames.org), licensed under CC BY 4.0; selected and packed.";
