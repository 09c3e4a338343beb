//! All that a seller has listed, archived offers too, a page at a time.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};

use async_trait::async_trait;
use futures::stream::{self, Stream};
use futures::{StreamExt as _, TryStreamExt as _};
use model::Offer;
use prost::Message as _;
use serde_json::Value;
use store::{Range, Read as _, Shard};

use crate::archive::ids::Known;
use crate::archive::{self, Member, format};
use crate::follow::MAX_FOLLOWERS;
use crate::presets::Preset;
use crate::tables::{FOLLOWERS, PRESETS};
use crate::{Error, Offers, Result};

pub(crate) const OFFERS_AT_ONCE: usize = 100;

/// Somebody who keeps something of sellers' offers beside the offers themselves.
#[async_trait]
pub trait Keeper: Send + Sync {
    /// What is kept of these offers of a seller, a line of the export each. `followers` are the names under which the seller
    /// is followed, or was.
    async fn kept(&self, followers: &[String], offers: &[Offer]) -> std::result::Result<Vec<Value>, String>;
}

impl Offers {
    /// What others keep of these offers of a seller.
    pub async fn kept_by_others(
        &self,
        seller: &str,
        offers: &[Offer],
    ) -> std::result::Result<Vec<Value>, String> {
        if self.keepers.is_empty() || offers.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = self.store.snapshot(Shard::of(seller)).await.map_err(|error| error.to_string())?;
        let range = Range::prefix((seller,), MAX_FOLLOWERS).map_err(|error| error.to_string())?;
        let rows = snapshot.scan(&FOLLOWERS, range).await.map_err(|error| error.to_string())?;
        let followers: Vec<String> = rows.into_iter().map(|((_, follower), _)| follower).collect();
        let mut lines = Vec::new();
        for keeper in &self.keepers {
            lines.extend(keeper.kept(&followers, offers).await?);
        }
        Ok(lines)
    }

    /// Every offer of the seller, first those of the tables, deleted ones too, then those of the archive. An offer that
    /// goes to the archive meanwhile may come twice; none is left out.
    pub fn export(&self, seller: &str) -> impl Stream<Item = Result<Offer>> + Send + use<> {
        kept(self.clone(), seller.to_owned()).chain(archived(self.clone(), seller.to_owned()))
    }
}

/// By the seller's own lists, in the order of creation. The lists of a page are of one moment, and an offer has the same
/// place in each, so one that is deleted or comes back meanwhile is neither left out nor given twice.
fn kept(offers: Offers, seller: String) -> impl Stream<Item = Result<Offer>> + Send {
    let shard = Shard::of(&seller);
    let pages = stream::try_unfold(Some((i64::MIN, i64::MIN)), move |place| {
        let (offers, seller) = (offers.clone(), seller.clone());
        async move {
            let Some((created_at, id)) = place else { return Ok(None) };
            let snapshot = offers.store.snapshot(shard).await?;
            let mut places = Vec::new();
            for list in [Preset::All.id(), Preset::Deleted.id()] {
                let range = Range::prefix((seller.as_str(), list), OFFERS_AT_ONCE)?;
                let range = range.after((seller.as_str(), list, created_at, id))?;
                let rows = snapshot.scan(&PRESETS, range).await?;
                places.extend(rows.into_iter().map(|((_, _, created_at, id), ())| (created_at, id)));
            }
            places.sort_unstable();
            places.truncate(OFFERS_AT_ONCE);
            let ids: Vec<i64> = places.iter().map(|(_, id)| *id).collect();
            let found = crate::read::find_many(&snapshot, &ids).await?.into_iter().flatten().map(Ok);
            let page: Vec<Result<Offer>> = found.collect();
            Ok::<_, crate::Error>(Some((stream::iter(page), places.last().copied())))
        }
    });
    pages.try_flatten()
}

/// The seller's offers of one file of the archive, copied out of it before anybody waits for a reader: a client that does
/// not read holds a file, and no thread.
struct Copied {
    file: BufReader<File>,
    month: u32,
}

impl Copied {
    async fn of(offers: &Offers, seller: &str, member: &Member) -> Result<Self> {
        let (seller, month) = (seller.to_owned(), member.month);
        let copy = move |ranges| {
            let mut out = BufWriter::new(tempfile::tempfile().map_err(spooling)?);
            let mut failed = None;
            format::each_of_seller(ranges, &seller, |offer| {
                let bytes = offer.encode_to_vec();
                let length = (bytes.len() as u32).to_le_bytes();
                failed = out.write_all(&length).and_then(|()| out.write_all(&bytes)).err();
                failed.is_none()
            })?;
            let file = match failed {
                Some(error) => Err(error),
                None => out.into_inner().map_err(std::io::IntoInnerError::into_error),
            };
            let mut file = file.map_err(spooling)?;
            file.rewind().map_err(spooling)?;
            Ok(Self { file: BufReader::new(file), month })
        };
        archive::read(&offers.files, member.hash, copy).await
    }

    /// The next offers; none: that was all.
    fn page(mut self) -> Result<(Self, Vec<Offer>)> {
        let mut page = Vec::new();
        while page.len() < OFFERS_AT_ONCE && !self.file.fill_buf().map_err(spooling)?.is_empty() {
            let mut length = [0; 4];
            self.file.read_exact(&mut length).map_err(spooling)?;
            let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
            self.file.read_exact(&mut bytes).map_err(spooling)?;
            page.push(Offer::decode(bytes.as_slice()).map_err(|error| Error::Archive(error.to_string()))?);
        }
        Ok((self, page))
    }
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn spooling(error: std::io::Error) -> Error {
    Error::Archive(format!("the offers of an export cannot be kept for a while: {error}"))
}

fn archived(offers: Offers, seller: String) -> impl Stream<Item = Result<Offer>> + Send {
    let shard = Shard::of(&seller);
    let pages = stream::try_unfold((None::<Member>, None::<Copied>), move |(mut behind, mut copied)| {
        let (offers, seller) = (offers.clone(), seller.clone());
        async move {
            loop {
                if let Some(some) = copied.take() {
                    let month = some.month;
                    let (rest, page) = archive::blocking(move || some.page()).await?;
                    if !page.is_empty() {
                        let page = still_there(&offers, shard, month, page).await?;
                        return Ok::<_, Error>(Some((stream::iter(page), (behind, Some(rest)))));
                    }
                }
                let Some(member) = archive::next_members(&offers, shard, behind.as_ref(), 1).await?.pop()
                else {
                    return Ok(None);
                };
                copied = Some(Copied::of(&offers, &seller, &member).await?);
                behind = Some(member);
            }
        }
    });
    pages.try_flatten()
}

/// An offer of a file may have come back since, or be in a later file.
async fn still_there(
    offers: &Offers,
    shard: Shard,
    month: u32,
    page: Vec<Offer>,
) -> Result<Vec<Result<Offer>>> {
    let snapshot = offers.store.snapshot(shard).await?;
    let ids: Vec<i64> = page.iter().map(|offer| offer.id).collect();
    let known = archive::ids::known(&snapshot, &ids).await?;
    let there = |known: &Option<Known>| matches!(known, Some(Known::In(there)) if *there == month);
    Ok(page.into_iter().zip(known).filter(|(_, known)| there(known)).map(|(offer, _)| Ok(offer)).collect())
}
