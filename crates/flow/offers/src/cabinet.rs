//! A seller's lists: pages by cursor, newest first, that stay right while offers come and go.

use model::{Offer, OfferId};
use store::{Range, Read, Shard};
use wire::offers::FeedProblems;
use wire::offers::offer_part::Kind;

use crate::presets::Preset;
use crate::tables::{FEED_PROBLEMS, OFFER, PRESETS, PRESETS_COUNT};
use crate::{Error, Offers, Result, archive, counters, read};

/// A place in a list: the last offer seen. Offers that come later are above it, those that went do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub created_at: i64,
    pub offer_id: i64,
}

impl Place {
    /// Opaque to clients.
    pub fn cursor(self) -> String {
        format!("{:x}-{:x}", self.created_at, self.offer_id)
    }

    pub fn parse(cursor: &str) -> Option<Self> {
        let (created_at, offer_id) = cursor.split_once('-')?;
        let number = |text: &str| i64::from_str_radix(text, 16).ok().filter(|number| *number >= 0);
        Some(Self { created_at: number(created_at)?, offer_id: number(offer_id)? })
    }
}

impl Offers {
    /// The next offers of a list below a place, and the place after them where there are more.
    pub async fn page(
        &self,
        seller: &str,
        preset: Preset,
        below: Option<Place>,
        limit: usize,
    ) -> Result<(Vec<Offer>, Option<Place>)> {
        let snapshot = self.store.snapshot(Shard::of(seller)).await?;
        let mut range = Range::prefix((seller, preset.id()), limit + 1)?.reversed();
        if let Some(place) = below {
            range = range.before((seller, preset.id(), place.created_at, place.offer_id))?;
        }
        let rows = snapshot.scan(&PRESETS, range).await?;
        let places: Vec<_> = rows
            .iter()
            .take(limit)
            .map(|((_, _, created_at, offer_id), ())| Place { created_at: *created_at, offer_id: *offer_id })
            .collect();
        let ids: Vec<_> = places.iter().map(|place| place.offer_id).collect();
        let offers = read::find_many(&snapshot, &ids).await?.into_iter().flatten().collect();
        let next = if rows.len() > limit { places.last().copied() } else { None };
        Ok((offers, next))
    }

    /// How many offers each list has.
    pub async fn counts(&self, seller: &str) -> Result<Vec<(Preset, i64)>> {
        let snapshot = self.store.snapshot(Shard::of(seller)).await?;
        counts_in(&snapshot, seller).await
    }

    /// Sellers who have or had offers behind one of them, at most `limit`, in the order of (shard, seller).
    pub async fn sellers(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let page = Range::all(limit * Preset::KEPT.len());
        let rest = |seller: &str| Ok::<_, store::Error>((Shard::of(seller), page.clone().after((seller,))?));
        let mut last = String::new();
        let first_rows = |(seller, _): (String, u32), _| {
            let is_new = last != seller;
            last.clone_from(&seller);
            is_new.then_some(seller)
        };
        let cursor = after.map(rest).transpose()?;
        Ok(self.store.scan_after(&PRESETS_COUNT, &page, cursor, limit, first_rows).await?)
    }

    /// What the last load said of an offer, and which load that was.
    pub async fn feed_problems(&self, id: OfferId) -> Result<Option<FeedProblems>> {
        let part = self.store.get(&OFFER, read::shard_of(id), (id.raw(), FEED_PROBLEMS)).await?;
        Ok(part.and_then(|part| match part.kind {
            Some(Kind::Feed(problems)) => Some(problems),
            _ => None,
        }))
    }

    pub async fn counters(&self, seller: &str) -> Result<counters::Counters> {
        let snapshot = self.store.snapshot(Shard::of(seller)).await?;
        counters::read(&snapshot, seller).await
    }

    /// The offer of an id, wherever it is.
    pub async fn get(&self, id: OfferId) -> Result<Offer> {
        let part = self.store.get(&OFFER, read::shard_of(id), (id.raw(), crate::tables::CONTENT));
        if let Some(offer) = part.await?.and_then(read::content) {
            return Ok(offer);
        }
        archive::find(self, id).await?.ok_or(Error::NoOffer(id))
    }
}

pub(crate) async fn counts_in(read: &impl Read, seller: &str) -> Result<Vec<(Preset, i64)>> {
    // Owned, since the compiler cannot prove a generic reader's future of borrowed keys to be `Send`.
    let keys = Preset::EVERY.map(|preset| (seller.to_owned(), preset.id()));
    let counts = read.get_many(&PRESETS_COUNT, keys).await?;
    Ok(Preset::EVERY.into_iter().zip(counts.into_iter().map(Option::unwrap_or_default)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nonsense_does_not() {
        let place = Place { created_at: 1_700_000_000_000_000, offer_id: 42 };
        assert_eq!(Place::parse(&place.cursor()), Some(place));
        for bad in ["", "-", "1", "x-y", "--1", "-1-1", "1--1", "ffffffffffffffffff-1"] {
            assert_eq!(Place::parse(bad), None, "{bad:?}");
        }
    }
}
