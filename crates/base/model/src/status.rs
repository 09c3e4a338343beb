//! The states of an offer and the moves between them.

use wire::model::Status;

pub const ALL: [Status; 7] = [
    Status::Active,
    Status::Inactive,
    Status::Expired,
    Status::Banned,
    Status::SoldHere,
    Status::SoldElsewhere,
    Status::Deleted,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an offer that is {} cannot become {}", name(*.from), name(*.to))]
pub struct IllegalMove {
    pub from: Status,
    pub to: Status,
}

/// Whether an offer may go from one status to another. A ban that is lifted leads to the status before it, and a deleted
/// offer comes back by its feed only (`revive`); both are decided by their callers.
pub fn check(from: Status, to: Status) -> Result<(), IllegalMove> {
    use Status::{Active, Banned, Deleted, Expired, Inactive, SoldElsewhere, SoldHere};
    let allowed = match from {
        Active => matches!(to, Inactive | Expired | Banned | SoldHere | SoldElsewhere | Deleted),
        Inactive | Expired => matches!(to, Active | Banned | SoldHere | SoldElsewhere | Deleted),
        Banned => to == Deleted,
        SoldHere | SoldElsewhere => matches!(to, Active | Deleted),
        Deleted | Status::Unspecified => false,
    };
    if allowed { Ok(()) } else { Err(IllegalMove { from, to }) }
}

pub fn is_sold(status: Status) -> bool {
    matches!(status, Status::SoldHere | Status::SoldElsewhere)
}

/// As the API writes it.
pub fn name(status: Status) -> &'static str {
    match status {
        Status::Unspecified => "unknown",
        Status::Active => "active",
        Status::Inactive => "inactive",
        Status::Expired => "expired",
        Status::Banned => "banned",
        Status::SoldHere => "sold_here",
        Status::SoldElsewhere => "sold_elsewhere",
        Status::Deleted => "deleted",
    }
}

pub fn parse(text: &str) -> Option<Status> {
    ALL.into_iter().find(|status| name(*status) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page's own words, as a table.
    #[test]
    fn moves_are_those_of_the_contract() {
        let allowed = [
            ("active", "inactive expired banned sold_here sold_elsewhere deleted"),
            ("inactive", "active banned sold_here sold_elsewhere deleted"),
            ("expired", "active banned sold_here sold_elsewhere deleted"),
            ("banned", "deleted"),
            ("sold_here", "active deleted"),
            ("sold_elsewhere", "active deleted"),
            ("deleted", ""),
        ];
        for (from, to) in allowed {
            for target in ALL {
                let expected = to.split_whitespace().any(|word| word == name(target));
                assert_eq!(
                    check(parse(from).unwrap(), target).is_ok(),
                    expected,
                    "{from} → {}",
                    name(target)
                );
            }
        }
    }

    #[test]
    fn an_illegal_move_names_both() {
        let error = check(Status::Deleted, Status::Active).unwrap_err();
        assert_eq!(error.to_string(), "an offer that is deleted cannot become active");
    }
}
