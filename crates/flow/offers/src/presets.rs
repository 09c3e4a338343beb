//! The ready-made lists of the cabinet: which of them an offer is in, from the offer's own data alone.

use model::{Offer, PhotoState, Status};

/// The numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Preset {
    All = 1,
    Active = 2,
    Inactive = 3,
    Expired = 4,
    Banned = 5,
    Sold = 6,
    FromFeed = 7,
    Manual = 8,
    WithProblems = 9,
    /// For those who must find all offers of a seller; no list of the cabinet.
    Deleted = 10,
}

impl Preset {
    pub const EVERY: [Self; 9] = [
        Self::All,
        Self::Active,
        Self::Inactive,
        Self::Expired,
        Self::Banned,
        Self::Sold,
        Self::FromFeed,
        Self::Manual,
        Self::WithProblems,
    ];

    /// With those that only the program itself reads.
    pub const KEPT: [Self; 10] = [
        Self::All,
        Self::Active,
        Self::Inactive,
        Self::Expired,
        Self::Banned,
        Self::Sold,
        Self::FromFeed,
        Self::Manual,
        Self::WithProblems,
        Self::Deleted,
    ];

    pub const fn id(self) -> u32 {
        self as u32
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Expired => "expired",
            Self::Banned => "banned",
            Self::Sold => "sold",
            Self::FromFeed => "from_feed",
            Self::Manual => "manual",
            Self::WithProblems => "with_problems",
            Self::Deleted => "deleted",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|preset| preset.name() == text)
    }

    /// A deleted offer is in no list of the cabinet.
    pub fn holds(self, offer: &Offer) -> bool {
        let status = offer.status();
        if status == Status::Deleted {
            return self == Self::Deleted;
        }
        match self {
            Self::Deleted => false,
            Self::All => true,
            Self::Active => status == Status::Active,
            Self::Inactive => status == Status::Inactive,
            Self::Expired => status == Status::Expired,
            Self::Banned => status == Status::Banned,
            Self::Sold => matches!(status, Status::SoldHere | Status::SoldElsewhere),
            Self::FromFeed => is_from_feed(offer),
            Self::Manual => !is_from_feed(offer),
            Self::WithProblems => has_problems(offer),
        }
    }
}

pub fn is_from_feed(offer: &Offer) -> bool {
    offer.origin.as_ref().is_some_and(|origin| !origin.namespace.is_empty())
}

/// Banned, a photo that failed, a video that is gone, or errors in the last load.
pub fn has_problems(offer: &Offer) -> bool {
    offer.status() == Status::Banned
        || offer.feed_problems
        || offer.video_error.is_some()
        || offer.photos.iter().any(|photo| photo.state() == PhotoState::Failed)
}

#[cfg(test)]
mod tests {
    use model::{Origin, Photo};

    use super::*;

    fn check(offer: &Offer, expected: &str) {
        let names: Vec<_> =
            Preset::KEPT.into_iter().filter(|preset| preset.holds(offer)).map(Preset::name).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn an_offer_is_in_the_lists_that_its_data_say() {
        let offer = |status: Status| Offer { status: status.into(), ..Offer::default() };
        check(&offer(Status::Active), "all active manual");
        check(&offer(Status::SoldElsewhere), "all sold manual");
        check(&offer(Status::Banned), "all banned manual with_problems");
        check(&offer(Status::Deleted), "deleted");
        let origin = Some(Origin { namespace: "default".into(), ..Origin::default() });
        check(&Offer { origin, ..offer(Status::Active) }, "all active from_feed");
        let failed = Photo { state: PhotoState::Failed.into(), ..Photo::default() };
        check(&Offer { photos: vec![failed], ..offer(Status::Expired) }, "all expired manual with_problems");
    }

    #[test]
    fn names_read_back() {
        assert!(Preset::EVERY.into_iter().all(|preset| Preset::parse(preset.name()) == Some(preset)));
        assert_eq!((Preset::parse("everything"), Preset::parse("deleted")), (None, None));
    }
}
