//! Step 1: offers that we do not want at all.

use super::{Cut, Rules};
use crate::ssku::CommonSsku;

/// Refuses offers of forbidden businesses, and those that have no service, neither stored nor in the message. The word that
/// something is erased passes always.
pub fn first_filter(rules: &Rules, offer: &CommonSsku, has_stored_services: bool) -> Result<(), Cut> {
    if !offer.erased.is_empty() {
        return Ok(());
    }
    if rules.forbidden.contains(&offer.key.business) {
        return Err(Cut::Forbidden);
    }
    if offer.services.is_empty() && !has_stored_services {
        return Err(Cut::NoServices);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wire::united::Colour;

    use super::super::tests::{key, offer};
    use super::*;

    #[test]
    fn who_passes() {
        let rules = Rules { forbidden: [666].into(), ..Rules::default() };
        let with = |business| offer(&key(business), 1, &[(1, Colour::Blue, "a")]);
        let without = |business| offer(&key(business), 1, &[]);
        // Offer, stored services, expected.
        for (offer, stored, expected) in [
            (with(7), false, Ok(())),
            (with(7), true, Ok(())),
            (without(7), true, Ok(())),
            (without(7), false, Err(Cut::NoServices)),
            (with(666), false, Err(Cut::Forbidden)),
            (with(666), true, Err(Cut::Forbidden)),
            (without(666), false, Err(Cut::Forbidden)),
            // A service of any colour is a service here; colours are the next step's.
            (offer(&key(7), 1, &[(1, Colour::White, "a")]), false, Ok(())),
        ] {
            assert_eq!(first_filter(&rules, &offer, stored), expected, "{offer:?} {stored}");
        }
        assert_eq!(
            first_filter(&Rules::default(), &with(666), false),
            Ok(()),
            "nobody is forbidden as a rule"
        );
    }
}
