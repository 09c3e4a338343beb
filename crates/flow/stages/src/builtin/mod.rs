//! The stages that come with the program.

mod catalog;
mod expire;
mod photo_order;
mod photos;
pub mod price;
pub mod video;

use offers::Offers;

use self::video::Videos;
use crate::Builtin;

/// All of them. `videos`: who is asked whether a linked video is still there.
pub fn all(offers: &Offers, videos: Videos) -> Vec<Builtin> {
    vec![
        catalog::builtin(offers),
        expire::builtin(),
        photo_order::builtin(),
        photos::builtin(),
        price::builtin(offers),
        video::builtin(offers, videos),
    ]
}
