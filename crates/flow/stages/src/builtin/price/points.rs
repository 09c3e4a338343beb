//! The prices of a bucket: a sample of its offers, and the estimate that it gives.
//!
//! A bucket has [`SLOTS`] slots of [`MAX_POINTS`] offers each, so that a change writes a small row. An offer's slot and its
//! rank within follow from its id: a full slot keeps those of least rank, whatever the order in which they came, so no
//! price is favoured. An offer that left stays noted for a day: messages from other shards may come late.

use std::time::Duration;

use kit::Timestamp;
use wire::stages::{PricePoint, PricePoints};

/// Rows of a bucket.
pub(super) const SLOTS: u32 = 16;
/// Offers of a slot.
pub(super) const MAX_POINTS: usize = 64;
/// How long those that left are noted.
const NOTED: Duration = Duration::from_hours(24);
/// The traversal confirms a point that is older than this,
const CONFIRM_AFTER: Duration = Duration::from_hours(30 * 24);
/// and one that nobody has confirmed for this long counts no more.
const MAX_AGE: Duration = Duration::from_hours(60 * 24);
/// An estimate of fewer offers is none.
const MIN_OFFERS: usize = 5;
/// This share of the prices is left out at either end.
const TRIMMED: usize = 4;

/// What a bucket says of an offer's price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) minor: i64,
    /// Offers that it rests on.
    pub(super) offers: u32,
}

pub(super) fn slot(offer: i64) -> u32 {
    (mixed(offer) % u64::from(SLOTS)) as u32
}

fn rank(offer: i64) -> u64 {
    mixed(offer) / u64::from(SLOTS)
}

/// The finaliser of SplitMix64: ids in a row are spread evenly.
fn mixed(offer: i64) -> u64 {
    let mut bits = offer as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Writes a point into its slot; `false`: a newer one of the offer is known, or nothing changes.
pub(super) fn place(slot: &mut PricePoints, point: PricePoint) -> bool {
    let before = slot.clone();
    match slot.points.iter_mut().find(|known| known.offer_id == point.offer_id) {
        Some(known) if known.version > point.version => return false,
        // What has left at a version does not come back with it.
        Some(known) if known.version == point.version && known.minor == 0 => return false,
        Some(known) => *known = PricePoint { at: point.at.max(known.at), ..point },
        None => slot.points.push(point),
    }
    let now = Timestamp(point.at);
    slot.points.retain(|known| {
        let kept = if known.minor == 0 { NOTED } else { MAX_AGE };
        Timestamp(known.at).plus(kept) >= now
    });
    slot.points.sort_by_key(|known| rank(known.offer_id));
    keep_first(slot, |known| known.minor != 0);
    keep_first(slot, |known| known.minor == 0);
    *slot != before
}

/// Of these points as many as a slot may have.
fn keep_first(slot: &mut PricePoints, is_counted: impl Fn(&PricePoint) -> bool) {
    let mut count = 0;
    slot.points.retain(|known| {
        count += usize::from(is_counted(known));
        !is_counted(known) || count <= MAX_POINTS
    });
}

/// Whether the offer's point is missing from its slot, or should be confirmed.
pub(super) fn wants(slot: &PricePoints, point: &PricePoint) -> bool {
    let known = slot.points.iter().find(|known| known.offer_id == point.offer_id);
    match known {
        Some(known) if known.version > point.version || known.minor == 0 => false,
        Some(known) => {
            known.minor != point.minor || Timestamp(known.at).plus(CONFIRM_AFTER) < Timestamp(point.at)
        }
        None => {
            let counted = slot.points.iter().filter(|known| known.minor != 0);
            let last = counted.clone().map(|known| rank(known.offer_id)).max().unwrap_or(0);
            counted.count() < MAX_POINTS || rank(point.offer_id) < last
        }
    }
}

/// The mean of the middle half of what other offers of the bucket cost.
pub(super) fn estimate(slots: &[PricePoints], offer: i64, now: Timestamp) -> Option<Estimate> {
    let all = slots.iter().flat_map(|slot| &slot.points);
    let counted = all.filter(|point| {
        point.minor > 0 && point.offer_id != offer && Timestamp(point.at).plus(MAX_AGE) >= now
    });
    let mut prices: Vec<_> = counted.map(|point| point.minor).collect();
    if prices.len() < MIN_OFFERS {
        return None;
    }
    prices.sort_unstable();
    let cut = prices.len() / TRIMMED;
    let middle = &prices[cut..prices.len() - cut];
    let sum: i128 = middle.iter().map(|price| i128::from(*price)).sum();
    let mean = (sum + middle.len() as i128 / 2) / middle.len() as i128;
    Some(Estimate { minor: i64::try_from(mean).ok()?, offers: u32::try_from(prices.len()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);
    const DAY: Duration = Duration::from_hours(24);

    fn point(offer_id: i64, version: i64, minor: i64) -> PricePoint {
        PricePoint { offer_id, version, minor, at: NOW.0 }
    }

    fn of(prices: &[i64]) -> Vec<PricePoints> {
        let points = prices.iter().enumerate().map(|(id, minor)| point(id as i64 + 1, 1, *minor));
        vec![PricePoints { points: points.collect() }]
    }

    #[track_caller]
    fn check(prices: &[i64], expected: Option<(i64, u32)>) {
        let found = estimate(&of(prices), 0, NOW).map(|found| (found.minor, found.offers));
        assert_eq!(found, expected);
    }

    #[test]
    fn an_estimate_is_the_mean_of_the_middle_and_rests_on_five() {
        check(&[100, 100, 100, 100], None);
        check(&[100, 110, 120, 130, 140], Some((120, 5)));
        check(&[100, 110, 120, 130, 1_000_000], Some((120, 5)));
        check(&[1, 1, 100, 110, 120, 130, 9_999, 9_999], Some((115, 8)));
        check(&[i64::MAX; 6], Some((i64::MAX, 6)));
    }

    #[test]
    fn an_offers_own_price_and_old_ones_do_not_count() {
        let slots = of(&[100, 100, 100, 100, 100, 700]);
        assert_eq!(estimate(&slots, 6, NOW).unwrap(), Estimate { minor: 100, offers: 5 });
        assert_eq!(estimate(&slots, 6, NOW.plus(61 * DAY)), None);
    }

    #[test]
    fn what_comes_late_changes_nothing() {
        let mut slot = PricePoints::default();
        assert!(place(&mut slot, point(1, 3, 500)));
        assert!(!place(&mut slot, point(1, 2, 400)) && !place(&mut slot, point(1, 3, 500)));
        assert!(!place(&mut slot, point(1, 2, 0)), "it left before it came back");
        assert!(place(&mut slot, point(1, 4, 0)));
        assert!(!place(&mut slot, point(1, 3, 500)) && !place(&mut slot, point(1, 4, 500)));
        assert_eq!(estimate(&[slot.clone()], 0, NOW), None);
        let later = PricePoint { at: NOW.plus(2 * DAY).0, ..point(2, 1, 100) };
        assert!(place(&mut slot, later));
        assert_eq!(slot.points, [later], "those that left are forgotten after a day");
    }

    #[test]
    fn a_full_slot_keeps_the_same_offers_in_whatever_order_they_come() {
        let (mut one, mut other) = (PricePoints::default(), PricePoints::default());
        for offer in 1..=500 {
            place(&mut one, point(offer, 1, offer));
            place(&mut other, point(501 - offer, 1, 501 - offer));
        }
        assert_eq!((one.points.len(), &one), (MAX_POINTS, &other));
        let kept = one.points[0].offer_id;
        let dropped = (1..=500).find(|id| !one.points.iter().any(|known| known.offer_id == *id)).unwrap();
        assert!(!wants(&one, &point(kept, 1, kept)) && !wants(&one, &point(dropped, 1, dropped)));
        assert!(wants(&one, &point(kept, 2, 7)), "it costs something else by now");
        let later = PricePoint { at: NOW.plus(31 * DAY).0, ..point(kept, 1, kept) };
        assert!(wants(&one, &later), "nobody has confirmed it for a month");
        place(&mut one, point(kept, 2, 0));
        assert!(wants(&one, &point(dropped, 1, dropped)), "there is room again");
    }
}
