//! Step 6: what an offer changes in what is stored.

use wire::silver::{Part, SskuRow};
use wire::united::Colour;

use super::Stored;
use super::to_silver::is_newer;
use crate::ssku::{BASIC, CommonSsku, SOURCE_ID, SourceType, is_supported, same_data};

/// What the merge with the stored record gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Detected {
    /// Every part is older than the stored one.
    Older,
    /// Nothing is newer.
    Repeated,
    /// Newer parts with the same data: their versions are saved and nothing else.
    Versions {
        source: SourceType,
        row: SskuRow,
    },
    /// There is no service, not even a removed one.
    Empty,
    Changed {
        source: SourceType,
        row: SskuRow,
    },
    /// Its last service was erased: nothing of the SSKU stays.
    Erased,
}

impl Detected {
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Older => "older",
            Self::Repeated => "repeated",
            Self::Versions { .. } => "same_data",
            Self::Empty => "no_services",
            Self::Changed { .. } => "changed",
            Self::Erased => "erased",
        }
    }
}

/// Merges the offer with the stored record, part by part: an older part is dropped, the newest is taken.
pub fn detect(stored: &Stored, offer: &CommonSsku) -> Detected {
    let mut row = stored_row(stored);
    let (mut newer, mut differs, mut equal) = (false, false, false);
    for (shop, part) in offer.parts() {
        let known = if shop == BASIC { row.basic.as_ref() } else { row.services.get(&shop) };
        let is_erased = offer.erased.contains(&shop);
        match known {
            Some(known) if is_newer(known, part) => continue,
            Some(known) if known.version == part.version && !is_erased => {
                equal = true;
                continue;
            }
            Some(known) => differs |= is_erased || !same_data(known, part),
            None => differs |= !is_erased,
        }
        newer = true;
        put(&mut row, shop, part, is_erased);
    }
    let is_erasure = !offer.erased.is_empty();
    if row.services.is_empty() {
        return if is_erasure { Detected::Erased } else { Detected::Empty };
    }
    let source = source_type(&row);
    let moves = stored.is_kept() && stored.row(source).is_none();
    row.version = version(&row);
    match (newer, differs || moves) {
        (false, _) if equal || offer.parts().next().is_none() => Detected::Repeated,
        (false, _) => Detected::Older,
        (true, true) => Detected::Changed { source, row },
        (true, false) if row == stored_row(stored) => Detected::Repeated,
        (true, false) => Detected::Versions { source, row },
    }
}

fn put(row: &mut SskuRow, shop: u32, part: &Part, is_erased: bool) {
    match (shop, is_erased) {
        (BASIC, false) => row.basic = Some(part.clone()),
        (BASIC, true) => row.basic = None,
        (shop, false) => {
            row.services.insert(shop, part.clone());
        }
        (shop, true) => {
            row.services.remove(&shop);
        }
    }
}

/// The record as it is stored; should there be one of each type, the newest of each part.
fn stored_row(stored: &Stored) -> SskuRow {
    let mut rows = SourceType::EVERY.iter().filter_map(|source| stored.row(*source));
    let mut merged = rows.next().cloned().unwrap_or_default();
    for row in rows {
        if let Some(basic) = &row.basic
            && merged.basic.as_ref().is_none_or(|known| is_newer(basic, known))
        {
            merged.basic = Some(basic.clone());
        }
        for (shop, part) in &row.services {
            if merged.services.get(shop).is_none_or(|known| is_newer(part, known)) {
                merged.services.insert(*shop, part.clone());
            }
        }
    }
    merged
}

/// DBS when all of its services are; removed ones speak only when no other is left.
pub fn source_type(row: &SskuRow) -> SourceType {
    let supported = || row.services.values().filter(|part| is_supported(part.colour()));
    let has_live = supported().any(|part| !part.removed);
    let mut speak = supported().filter(|part| !(has_live && part.removed)).peekable();
    let is_dbs = speak.peek().is_some() && speak.all(|part| part.colour() == Colour::Dbs);
    if is_dbs { SourceType::Dbs } else { SourceType::Supplier }
}

fn version(row: &SskuRow) -> i64 {
    row.basic.iter().chain(row.services.values()).map(|part| part.version).max().unwrap_or(0)
}

/// Stored records of the SSKU that must go when `kept` is written: a wrong source, or the record under its former type.
pub fn garbage(stored: &Stored, kept: SourceType) -> Vec<(String, String)> {
    let right = (kept.name().to_owned(), SOURCE_ID.to_owned());
    stored.rows.keys().filter(|source| **source != right).cloned().collect()
}

#[cfg(test)]
mod tests;
