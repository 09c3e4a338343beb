//! Which ids the archive has, and in which month: an exact index in small rows.
//!
//! An id's forty random bits are divided: the first twelve choose one of 4,096 rows of the shard, the other twenty-eight
//! stand in it, sorted, each with its month: six bytes for an offer that went. A shard of 180,000 archived offers a year
//! has 44 of them in a row, 260 bytes; a row is 4 KiB when the shard has sent 2.8 million. So the creation of an offer
//! reads one small row. A bloom filter would take two bytes less and could say neither the month, which saves a look
//! into the files of every other one, nor that an id is surely free.
//!
//! What is erased keeps its place without a month: its id is not given again.

use std::collections::BTreeMap;

use store::{Read, Tx};

use crate::Result;
use crate::tables::ARCHIVE_IDS;

const REST_BITS: u32 = 28;
const ENTRY_BYTES: usize = 6;
/// Month 1 of the index is January 1970; 0: erased.
const ERASED: u16 = 0;

/// One id of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    rest: u32,
    month: u16,
}

/// What the index knows of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    In(u32),
    Erased,
}

/// The archive's month of an id, if it is there.
pub async fn month_of(read: &impl Read, id: i64) -> Result<Option<u32>> {
    Ok(match known(read, &[id]).await?.pop().flatten() {
        Some(Known::In(month)) => Some(month),
        Some(Known::Erased) | None => None,
    })
}

/// What is known of each id, in their order.
pub async fn known(read: &impl Read, ids: &[i64]) -> Result<Vec<Option<Known>>> {
    let mut blocks: Vec<(u32,)> = ids.iter().map(|id| (block(*id),)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let rows = read.get_many(&ARCHIVE_IDS, blocks.clone()).await?;
    let rows: BTreeMap<_, _> = blocks.into_iter().zip(rows).collect();
    let look = |id: &i64| {
        let row = rows.get(&(block(*id),))?.as_ref()?;
        let entry = search(row, rest(*id)).ok().map(|place| entry(row, place))?;
        Some(if entry.month == ERASED { Known::Erased } else { Known::In(from_number(entry.month)) })
    };
    Ok(ids.iter().map(look).collect())
}

/// Notes ids as archived in a month, or as erased.
pub async fn note(tx: &mut Tx, ids: &[i64], what: Known) -> Result<()> {
    let month = match what {
        Known::In(month) => to_number(month),
        Known::Erased => ERASED,
    };
    let mut by_block = BTreeMap::<(u32,), Vec<u32>>::new();
    for id in ids {
        by_block.entry((block(*id),)).or_default().push(rest(*id));
    }
    let keys: Vec<_> = by_block.keys().copied().collect();
    let rows = tx.get_many(&ARCHIVE_IDS, keys).await?;
    for ((block, rests), row) in by_block.into_iter().zip(rows) {
        let mut row = row.unwrap_or_default();
        for rest in rests {
            put(&mut row, Entry { rest, month });
        }
        tx.put(&ARCHIVE_IDS, block, &row)?;
    }
    Ok(())
}

fn block(id: i64) -> u32 {
    ((id as u64 >> REST_BITS) & 0xfff) as u32
}

fn rest(id: i64) -> u32 {
    (id as u64 & ((1 << REST_BITS) - 1)) as u32
}

fn to_number(month: u32) -> u16 {
    ((month / 100).saturating_sub(1970) * 12 + month % 100) as u16
}

fn from_number(number: u16) -> u32 {
    let number = u32::from(number) - 1;
    (number / 12 + 1970) * 100 + number % 12 + 1
}

fn entry(row: &[u8], place: usize) -> Entry {
    let bytes = &row[place * ENTRY_BYTES..(place + 1) * ENTRY_BYTES];
    Entry {
        rest: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        month: u16::from_be_bytes([bytes[4], bytes[5]]),
    }
}

/// The place of an id, or where it belongs.
fn search(row: &[u8], rest: u32) -> Result<usize, usize> {
    let (mut low, mut high) = (0, row.len() / ENTRY_BYTES);
    while low < high {
        let middle = usize::midpoint(low, high);
        match entry(row, middle).rest.cmp(&rest) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Ok(middle),
        }
    }
    Err(low)
}

fn put(row: &mut Vec<u8>, new: Entry) {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..4].copy_from_slice(&new.rest.to_be_bytes());
    bytes[4..].copy_from_slice(&new.month.to_be_bytes());
    let (place, replaced) = match search(row, new.rest) {
        Ok(place) => (place, 1),
        Err(place) => (place, 0),
    };
    let from = place * ENTRY_BYTES;
    row.splice(from..from + replaced * ENTRY_BYTES, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stays_sorted_and_finds_what_it_has() {
        let mut row = Vec::new();
        for (rest, month) in [(7, 202_611), (1, 197_001), (0x0fff_ffff, 202_612), (7, 203_001)] {
            put(&mut row, Entry { rest, month: to_number(month) });
        }
        let found: Vec<_> =
            (0..3).map(|place| entry(&row, place)).map(|e| (e.rest, from_number(e.month))).collect();
        assert_eq!(found, [(1, 197_001), (7, 203_001), (0x0fff_ffff, 202_612)]);
        assert_eq!((search(&row, 7), search(&row, 8), row.len()), (Ok(1), Err(2), 18));
    }

    /// Stored rows depend on it.
    #[test]
    fn an_id_is_divided_so_for_ever() {
        let id = model::OfferId::new(513, 0xab_c123_4567).raw();
        assert_eq!((block(id), rest(id)), (0xabc, 0x0123_4567));
    }
}
