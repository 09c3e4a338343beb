//! Offers that ended long ago leave the tables for Parquet files, by month and shard, sorted by id.
//!
//! The month is the one in which the offer ended, in UTC. A file is an ordinary Parquet file ([`format`]) that any tool
//! can read: a few columns for people, and the whole offer as protobuf in the last one. [`ids`] knows of every id that
//! went, so that none is given again and a look-up goes to the right month at once.
//!
//! **Where an offer is**: in the tables if its row is there; else in the archive if `archive_ids` names a month for it,
//! in the files of that month; else nowhere. A row in a file that `archive_ids` does not name is waste, which the next
//! merge drops. So one transaction moves an offer, and these are the steps of a batch ([`leave`]):
//!
//! ```text
//! F  the batch is written into a file, put (crate files), and its reference is pending
//! T1 `archive_files` names the file
//! C  the reference is confirmed: the file stays
//! T2 for up to 100 offers that are still what was written: `archive_ids` names the month, and all rows of the offer
//!    go: content and every other kind, history, due row, places in lists, counts and counters. Repeated to the end.
//! ```
//!
//! | killed after | there is | finished by |
//! | --- | --- | --- |
//! | F | the offers in the tables, a pending file | the files' sweep asks [`answer`]: gone |
//! | T1 | the offers in the tables, a file of waste, pending | the sweep: held; the next batch takes the offers |
//! | C | the offers in the tables, a file of waste | the next batch takes the offers, a merge drops the waste |
//! | some T2 | some offers here, some there, none in neither | the same |
//!
//! An offer that changed between F and its T2 stays in the tables: its version is compared. One whose feed still names
//! it stays as long as the feed does, else the next load would bring a sold thing back as new.
//!
//! **Few files.** A file per batch would be a file per shard and day. When a month of a shard has eight
//! of them they become one, so a look-up opens a handful, and an offer is rewritten a few times at all: rewriting the
//! month with each batch would write thirty times as much, never merging would leave thirty files to look into.
//!
//! The history of an offer does not travel: it is kept as long as `events_kept`, which is over by then. Nothing brings an
//! offer back from the archive.

pub mod format;
pub mod ids;
mod leave;
mod merge;
mod pipe;
mod ranges;

use files::{Answer, Hash, Referrer};
use model::{Offer, OfferId};
use store::{Range, Read as _, Shard, Snapshot};
use wire::offers::ArchiveFile;

pub(crate) use leave::remove_whole;
pub use leave::{Left, leave};
pub(crate) use merge::erase;
pub(crate) use ranges::{blocking, read};

use crate::read::shard_of;
use crate::tables::ARCHIVE_FILES;
use crate::{Error, Offers, Result};

/// Files of a month that a question may return; merges keep them far below.
const MAX_FILES: usize = 1_000;

/// Looks for one offer, while files are replaced under it.
const ATTEMPTS: usize = 3;

/// One file of the shard's archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) month: u32,
    pub(crate) hash: Hash,
    pub(crate) row: ArchiveFile,
}

/// The archived offer of an id.
pub async fn find(offers: &Offers, id: OfferId) -> Result<Option<Offer>> {
    // A merge may replace the files between the question for them and the reading of one.
    for attempt in 0.. {
        match look(offers, id).await {
            Err(Error::Engine(_) | Error::Archive(_)) if attempt < ATTEMPTS => {}
            found => return found,
        }
    }
    Ok(None)
}

async fn look(offers: &Offers, id: OfferId) -> Result<Option<Offer>> {
    let snapshot = offers.store.snapshot(shard_of(id)).await?;
    let Some(month) = ids::month_of(&snapshot, id.raw()).await? else { return Ok(None) };
    let members = members_of(&snapshot, month).await?;
    drop(snapshot);
    let mut newest: Option<Offer> = None;
    for member in members.iter().filter(|member| (member.row.min_id..=member.row.max_id).contains(&id.raw()))
    {
        let found =
            ranges::read(&offers.files, member.hash, move |ranges| format::find(ranges, id.raw())).await?;
        let newer = |offer: &Offer| newest.as_ref().is_none_or(|newest| newest.version < offer.version);
        if let Some(found) = found.filter(newer) {
            newest = Some(found);
        }
    }
    match newest {
        Some(offer) => Ok(Some(offer)),
        None => Err(Error::Archive(format!("offer {id} should be in a file of {month}, and none has it"))),
    }
}

/// Looks in the archive for each offer that was not found elsewhere.
pub async fn fill(offers: &Offers, found: &mut [(OfferId, Option<Offer>)]) -> Result<()> {
    for (id, offer) in found.iter_mut().filter(|(_, offer)| offer.is_none()) {
        *offer = find(offers, *id).await?;
    }
    Ok(())
}

pub(crate) async fn members_of(snapshot: &Snapshot, month: u32) -> Result<Vec<Member>> {
    members(snapshot.scan(&ARCHIVE_FILES, Range::prefix((month,), MAX_FILES)?).await?)
}

/// The shard's next files, behind one.
pub(crate) async fn next_members(
    offers: &Offers,
    shard: Shard,
    behind: Option<&Member>,
    limit: usize,
) -> Result<Vec<Member>> {
    let mut range = Range::all(limit);
    if let Some(member) = behind {
        range = range.after((member.month, member.hash.as_bytes().as_slice()))?;
    }
    members(offers.store.snapshot(shard).await?.scan(&ARCHIVE_FILES, range).await?)
}

fn members(rows: Vec<((u32, Vec<u8>), ArchiveFile)>) -> Result<Vec<Member>> {
    let member = |((month, hash), row): ((u32, Vec<u8>), ArchiveFile)| {
        let hash = <[u8; 32]>::try_from(hash)
            .map_err(|_| Error::Archive(format!("a file of {month} has a name that is no hash")))?;
        Ok(Member { month, hash: Hash::from_bytes(hash), row })
    };
    rows.into_iter().map(member).collect()
}

/// For the files' sweep: whether the archive has this file under this name.
pub async fn answer(offers: &Offers, referrer: &Referrer, hash: &Hash) -> Answer {
    let Some((shard, month)) = parse_referrer(referrer) else { return Answer::Gone };
    let Ok(snapshot) = offers.store.snapshot(shard).await else { return Answer::Unknown };
    match snapshot.get(&ARCHIVE_FILES, (month, hash.as_bytes().as_slice())).await {
        Ok(Some(row)) if row.referrer == referrer.as_str() => Answer::Held,
        Ok(_) => Answer::Gone,
        Err(_) => Answer::Unknown,
    }
}

/// What this system calls itself before the files.
pub const REFERRER_SYSTEM: &str = "archive";

fn new_referrer(shard: Shard, month: u32) -> Result<Referrer> {
    Ok(Referrer::new(format!("{REFERRER_SYSTEM}:{shard}/{month}/{}", kit::random_id()))?)
}

fn parse_referrer(referrer: &Referrer) -> Option<(Shard, u32)> {
    let (system, name) = referrer.as_str().split_once(':')?;
    let mut parts = name.split('/');
    let (shard, month) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (system == REFERRER_SYSTEM).then_some((Shard::new(shard)?, month))
}

/// The month of a moment, as year and month: 202611.
pub fn month_of(at: kit::Timestamp) -> u32 {
    // Days to a civil date, by the well-known algorithm of H. Hinnant; no time zone is involved.
    let days = at.0.div_euclid(86_400_000_000) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year * 100 + month) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_its_month() {
        for (at, month) in [
            ("1970-01-01T00:00:00Z", 197_001),
            ("2024-02-29T23:59:59.999999Z", 202_402),
            ("2024-03-01T00:00:00Z", 202_403),
            ("2026-11-16T01:00:00Z", 202_611),
            ("2026-12-31T23:59:59Z", 202_612),
        ] {
            assert_eq!(month_of(at.parse().unwrap()), month, "{at}");
        }
    }

    #[test]
    fn a_referrer_reads_back() {
        let referrer = new_referrer(Shard::wrapping(7), 202_611).unwrap();
        assert_eq!(parse_referrer(&referrer), Some((Shard::wrapping(7), 202_611)));
        assert_eq!(parse_referrer(&Referrer::new("feeds:7/202611/x").unwrap()), None);
    }
}
