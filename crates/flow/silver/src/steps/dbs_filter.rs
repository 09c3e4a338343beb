//! Step 5: DBS services are taken from a few businesses only, unless the mode takes all.

use serde::{Deserialize, Serialize};
use wire::silver::Part;
use wire::united::Colour;

use super::Rules;
use crate::ssku::CommonSsku;

/// Which DBS offers come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DbsMode {
    /// All.
    #[default]
    BlueAndDbs,
    /// Those of the allowed businesses, and those that are here already.
    BlueAndSomeDbs,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    pub offer: CommonSsku,
    /// Shops whose DBS service was cut off.
    pub cut: Vec<u32>,
}

/// Cuts the DBS services off, unless mode, business or the SSKU's own existence let them pass. The offer goes on even
/// with no service left: those that are stored may be merged with it.
pub fn dbs_filter(rules: &Rules, mut offer: CommonSsku, exists: bool) -> Filtered {
    if exists || rules.takes_dbs(offer.key.business) {
        return Filtered { offer, cut: Vec::new() };
    }
    let is_cut = |(shop, part): &(&u32, &Part)| part.colour() == Colour::Dbs && !offer.erased.contains(shop);
    let cut: Vec<u32> = offer.services.iter().filter(is_cut).map(|(shop, _)| *shop).collect();
    offer.services.retain(|shop, _| !cut.contains(shop));
    Filtered { offer, cut }
}

impl Filtered {
    pub(super) fn outcome(&self) -> &'static str {
        if self.cut.is_empty() { "passed" } else { "dbs_cut" }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{key, offer};
    use super::*;

    const BLUE: (u32, Colour, &str) = (1, Colour::Blue, "a");
    const DBS: (u32, Colour, &str) = (2, Colour::Dbs, "b");

    #[track_caller]
    fn check(
        mode: DbsMode,
        ranges: &[(u32, u32)],
        services: &[(u32, Colour, &str)],
        exists: bool,
        left: &[u32],
    ) {
        let rules = Rules { dbs_mode: mode, dbs_ranges: ranges.to_vec(), ..Rules::default() };
        let came = offer(&key(7), 5, services);
        let filtered = dbs_filter(&rules, came.clone(), exists);
        assert_eq!(filtered.offer.services.keys().copied().collect::<Vec<_>>(), left);
        assert_eq!(filtered.cut.len() + left.len(), services.len());
        assert_eq!(filtered.offer.basic, came.basic);
        assert_eq!(filtered.outcome() == "dbs_cut", !filtered.cut.is_empty());
    }

    #[test]
    fn modes_ranges_and_existence() {
        let (all, some) = (DbsMode::BlueAndDbs, DbsMode::BlueAndSomeDbs);
        check(all, &[], &[BLUE, DBS], false, &[1, 2]);
        check(all, &[], &[DBS], false, &[2]);
        check(some, &[], &[BLUE, DBS], false, &[1]);
        check(some, &[], &[BLUE], false, &[1]);
        // It goes on with none left: services may come from the merge.
        check(some, &[], &[DBS], false, &[]);
        check(some, &[], &[DBS], true, &[2]);
        check(some, &[], &[BLUE, DBS], true, &[1, 2]);
        check(some, &[(1, 7)], &[DBS], false, &[2]);
        check(some, &[(7, 7)], &[DBS], false, &[2]);
        check(some, &[(7, 9)], &[DBS], false, &[2]);
        check(some, &[(1, 6), (8, 9)], &[DBS], false, &[]);
        check(some, &[(1, 2), (5, 9)], &[DBS], false, &[2]);
    }
}
