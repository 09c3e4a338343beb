//! In which order the photos of an offer are shown: that of `photo_order`, then the seller's.
//!
//! The order is a field of its own, beside the seller's urls, so that a save which follows the urls does not undo it.

use std::collections::HashMap;

use wire::model::{Offer, Photo};

/// The offer's photos as they are shown.
pub fn shown(offer: &Offer) -> Vec<&Photo> {
    let mut photos: Vec<_> = offer.photos.iter().collect();
    sort(&mut photos, &offer.photo_order, |photo| photo.url.as_str());
    photos
}

/// Puts what has a url into the order of these urls; what they do not name follows as it stood.
pub fn sort<T>(photos: &mut [T], order: &[String], url: impl Fn(&T) -> &str) {
    if order.is_empty() {
        return;
    }
    let places: HashMap<&str, usize> =
        order.iter().enumerate().rev().map(|(place, url)| (url.as_str(), place)).collect();
    photos.sort_by_key(|photo| places.get(url(photo)).copied().unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(urls: &[&str], order: &[&str], expected: &[&str]) {
        let photo = |url: &&str| Photo { url: (*url).to_owned(), ..Photo::default() };
        let offer = Offer {
            photos: urls.iter().map(photo).collect(),
            photo_order: order.iter().map(ToString::to_string).collect(),
            ..Offer::default()
        };
        let shown: Vec<_> = shown(&offer).into_iter().map(|photo| photo.url.as_str()).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn named_photos_come_first_and_the_rest_in_the_sellers_order() {
        check(&["a", "b", "c"], &[], &["a", "b", "c"]);
        check(&["a", "b", "c"], &["c", "a", "b"], &["c", "a", "b"]);
        check(&["a", "b", "c", "d"], &["d", "b"], &["d", "b", "a", "c"]);
        check(&["b", "a"], &["gone", "a", "a"], &["a", "b"]);
    }
}
