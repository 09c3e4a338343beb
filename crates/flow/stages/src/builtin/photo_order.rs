//! The best photo of an offer is shown first, and photos that look like a better one come last.
//!
//! Quality is sharpness, exposure and resolution together, in steps of a tenth: what cannot be told apart keeps the
//! seller's order. Photos of before these were measured are compared by resolution alone, and so are the offer's others
//! then. There is no state and no timer: the order follows from the photos, and is written only where it is not the
//! seller's own.

use async_trait::async_trait;
use model::{Offer, Photo, PhotoState, Status};

use crate::Builtin;
use crate::stage::{Answer, Fields, Job, Outcome, Stage, Update};

/// Photos whose likeness differs in no more bits of 64 look alike.
const ALIKE_BITS: u32 = 6;
/// More pixels than this (a long side of about 1600) show nothing more.
const ENOUGH_PIXELS: f64 = 1_600.0 * 1_200.0;
/// Qualities are told apart in so many steps.
const STEPS: f64 = 10.0;

pub(super) fn builtin() -> Builtin {
    Builtin::new("photo-order", &["photos"], PhotoOrder)
}

struct PhotoOrder;

/// The urls in the order of showing; none: the seller's order is as good.
fn order(offer: &Offer) -> Vec<String> {
    let ready: Vec<_> = offer.photos.iter().filter(|photo| photo.state() == PhotoState::Ready).collect();
    let all_measured = ready.iter().all(|photo| photo.sharpness != 0 && photo.exposure != 0);
    let mut best_first = ready.clone();
    // Stable: equally good ones stay as the seller has them.
    best_first.sort_by_key(|photo| std::cmp::Reverse(quality(photo, all_measured)));
    let (mut shown, mut last) = (Vec::<&Photo>::new(), Vec::new());
    for photo in best_first {
        if shown.iter().any(|better| are_alike(better, photo)) {
            last.push(photo);
        } else {
            shown.push(photo);
        }
    }
    shown.append(&mut last);
    let urls = |photos: &[&Photo]| photos.iter().map(|photo| photo.url.clone()).collect::<Vec<_>>();
    let (shown, ready) = (urls(&shown), urls(&ready));
    if shown == ready { Vec::new() } else { shown }
}

/// In steps, from 0.
fn quality(photo: &Photo, all_measured: bool) -> u32 {
    let pixels = f64::from(photo.width) * f64::from(photo.height);
    let resolution = (pixels / ENOUGH_PIXELS).min(1.0).sqrt();
    let share = |thousandths: u32| f64::from(thousandths) / 1_000.0;
    let quality = if all_measured {
        0.5 * share(photo.sharpness) + 0.25 * share(photo.exposure) + 0.25 * resolution
    } else {
        resolution
    };
    (quality * STEPS).round() as u32
}

fn are_alike(one: &Photo, other: &Photo) -> bool {
    let is_known = |photo: &Photo| photo.likeness != 0;
    (!one.hash.is_empty() && one.hash == other.hash)
        || (is_known(one) && is_known(other) && (one.likeness ^ other.likeness).count_ones() <= ALIKE_BITS)
}

/// The order that the offer should have, if it has another one.
fn wanted(offer: &Offer) -> Option<Vec<String>> {
    if offer.status() == Status::Deleted {
        return None;
    }
    Some(order(offer)).filter(|order| *order != offer.photo_order)
}

#[async_trait]
impl Stage for PhotoOrder {
    type Prepared = ();

    fn should_process(&self, job: &Job<'_>, _: &Fields) -> Answer {
        if wanted(job.offer).is_some() { Answer::Yes } else { Answer::No }
    }

    async fn prepare(&self, _: &[&Offer]) -> Result<(), String> {
        Ok(())
    }

    fn process(&self, job: &Job<'_>, (): &()) -> Result<Outcome, String> {
        let Some(photo_order) = wanted(job.offer) else { return Ok(Outcome::default()) };
        let offer = Box::new(Offer { photo_order, ..Offer::default() });
        let update = Update::Patch { offer, paths: vec!["photo_order".to_owned()] };
        Ok(Outcome { update, ..Outcome::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A photo of 1600 × 1200 with these thousandths, which looks like no other.
    fn photo(url: &str, sharpness: u32, exposure: u32) -> Photo {
        let hash = blake3::hash(url.as_bytes());
        let mut likeness = [0; 8];
        likeness.copy_from_slice(&hash.as_bytes()[..8]);
        Photo {
            url: url.to_owned(),
            state: PhotoState::Ready.into(),
            hash: hash.to_string(),
            width: 1_600,
            height: 1_200,
            likeness: u64::from_le_bytes(likeness),
            sharpness,
            exposure,
            ..Photo::default()
        }
    }

    #[track_caller]
    fn check(photos: Vec<Photo>, expected: &str) {
        let offer = Offer { photos, ..Offer::default() };
        assert_eq!(order(&offer).join(" "), expected);
    }

    #[test]
    fn the_best_photo_comes_first() {
        check(vec![photo("blurred", 200, 900), photo("sharp", 900, 900)], "sharp blurred");
        check(vec![photo("dark", 800, 200), photo("bright", 800, 1_000)], "bright dark");
        let small = Photo { width: 200, height: 150, ..photo("small", 800, 900) };
        check(vec![small, photo("large", 800, 900)], "large small");
    }

    #[test]
    fn what_is_hardly_better_leaves_the_sellers_order() {
        check(vec![photo("a", 800, 900), photo("b", 820, 910), photo("c", 790, 900)], "");
        check(vec![photo("a", 800, 900)], "");
        check(Vec::new(), "");
    }

    #[test]
    fn near_duplicates_come_last() {
        let first = photo("a", 900, 900);
        let alike = Photo { likeness: first.likeness ^ 0b1011, ..photo("a2", 880, 900) };
        let unlike = Photo { likeness: first.likeness ^ 0x0fff_ffff, ..photo("c", 880, 900) };
        let same_file = Photo { hash: unlike.hash.clone(), likeness: 0, ..photo("c2", 880, 900) };
        check(vec![first, alike, unlike, same_file, photo("b", 500, 500)], "a c b a2 c2");
    }

    #[test]
    fn of_photos_that_were_not_measured_only_the_resolution_counts() {
        let old = Photo { width: 400, height: 300, ..photo("old", 0, 0) };
        check(vec![old.clone(), photo("blurred", 100, 100)], "blurred old");
        let larger = Photo { width: 1_000, height: 800, ..photo("larger", 0, 0) };
        check(vec![old, larger], "larger old");
    }

    #[test]
    fn photos_that_are_not_there_are_not_named() {
        let waiting = Photo { state: PhotoState::Waiting.into(), ..photo("w", 0, 0) };
        check(vec![photo("a", 200, 500), waiting.clone(), photo("b", 900, 900)], "b a");
        check(vec![waiting, photo("b", 900, 900), photo("a", 200, 500)], "");
    }
}
