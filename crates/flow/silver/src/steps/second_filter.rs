//! Step 2: services of suppliers that master data does not serve.

use wire::silver::Part;

use crate::ssku::{CommonSsku, is_supported, removal};

/// The offer without the services that are neither BLUE nor DBS.
#[derive(Clone, Debug, PartialEq)]
pub struct Coloured {
    pub offer: CommonSsku,
    /// Shops whose service left the offer as a removal.
    pub removed: Vec<u32>,
    /// Shops whose service is simply left out.
    pub cut: Vec<u32>,
}

/// A service of another colour leaves the offer. If we keep the SSKU, it leaves as a removal with its version: a service that
/// turned WHITE must not stay BLUE for ever, and nothing older may bring it back.
pub fn second_filter(mut offer: CommonSsku, kept: bool) -> Coloured {
    let (mut removed, mut cut) = (Vec::new(), Vec::new());
    let is_cut = |(shop, part): &(&u32, &Part)| !is_supported(part.colour()) && !offer.erased.contains(shop);
    let unsupported: Vec<u32> = offer.services.iter().filter(is_cut).map(|(shop, _)| *shop).collect();
    for shop in unsupported {
        match offer.services.get_mut(&shop) {
            Some(part) if kept => {
                *part = removal(part);
                removed.push(shop);
            }
            _ => {
                offer.services.remove(&shop);
                cut.push(shop);
            }
        }
    }
    Coloured { offer, removed, cut }
}

impl Coloured {
    /// Nothing is left of the offer, and nothing is stored of it: there is nothing to do but to answer a migration.
    pub fn is_nothing_left(&self, has_stored_services: bool) -> bool {
        self.offer.services.is_empty() && !has_stored_services
    }

    pub(super) fn outcome(&self) -> &'static str {
        match (self.removed.is_empty(), self.cut.is_empty()) {
            (true, true) => "passed",
            (false, _) => "services_removed",
            (true, false) if self.offer.services.is_empty() => "unsupported",
            (true, false) => "services_cut",
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::united::Colour;

    use super::super::tests::{key, offer};
    use super::*;

    #[test]
    fn only_blue_and_dbs_stay() {
        let every =
            [Colour::UnknownColour, Colour::White, Colour::Blue, Colour::Dbs, Colour::Red, Colour::Green];
        let services: Vec<_> = every.iter().zip(1..).map(|(colour, shop)| (shop, *colour, "a")).collect();
        let came = offer(&key(7), 5, &services);
        let cut = second_filter(came.clone(), false);
        assert_eq!(cut.offer.services.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert_eq!((cut.removed.len(), cut.cut.as_slice()), (0, &[1, 2, 5, 6][..]));
        assert_eq!(cut.outcome(), "services_cut");

        let kept = second_filter(came.clone(), true);
        assert_eq!((kept.removed.as_slice(), kept.cut.len()), (&[1, 2, 5, 6][..], 0));
        for (shop, part) in &kept.offer.services {
            let leaves = kept.removed.contains(shop);
            assert_eq!((part.removed, part.value.is_empty()), (leaves, leaves), "shop {shop}");
            assert_eq!(part.version, 5, "a removal carries the version, so that nothing older undoes it");
        }
        assert_eq!(kept.offer.basic, came.basic);
    }

    #[test]
    fn what_is_left() {
        let white = offer(&key(7), 5, &[(1, Colour::White, "a")]);
        let unknown = second_filter(white.clone(), false);
        assert!(unknown.is_nothing_left(false));
        assert_eq!(unknown.outcome(), "unsupported");
        assert!(!unknown.is_nothing_left(true), "the basic part may still change what is stored");
        assert!(!second_filter(white, true).is_nothing_left(true));
        let basic_only = second_filter(offer(&key(7), 5, &[]), true);
        assert_eq!((basic_only.outcome(), basic_only.is_nothing_left(true)), ("passed", false));
    }
}
