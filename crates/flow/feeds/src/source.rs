//! What unifying needs from outside, behind one small trait: the catalog, the places, and which version they are.

use std::sync::OnceLock;

use catalog::Catalog;
use geo::Places;
use model::{Content, Issue};
use wire::feeds::FeedSettings;

use crate::FeedOffer;
use crate::unify::{self, Knowledge};

/// A record made into what the offers understand.
pub enum Unified {
    /// With what is to be said of it; an error among the issues keeps it out.
    Content(Box<Content>, Vec<Issue>),
    /// Something that may pass kept it from being understood: the offer stays as it is.
    Skipped(String),
}

pub trait Unify: Send + Sync {
    /// Pinned in a load when it is made.
    fn catalog_version(&self) -> u32;

    /// Blocking, and pure as far as the load is concerned: the same record gives the same content.
    fn unify(&self, offer: &FeedOffer, settings: &FeedSettings) -> Unified;
}

impl Unify for Knowledge {
    fn catalog_version(&self) -> u32 {
        self.recogniser.catalog().version()
    }

    fn unify(&self, offer: &FeedOffer, settings: &FeedSettings) -> Unified {
        let mut wanted = unify::Settings { address: settings.address.clone(), ..unify::Settings::default() };
        if !settings.currency.is_empty() {
            wanted.currency.clone_from(&settings.currency);
        }
        let (content, issues) = unify::unify(offer, self, &wanted);
        Unified::Content(Box::new(content), issues)
    }
}

/// The knowledge that comes with the program, made when the first record needs it: most commands never do.
pub struct LazyKnowledge {
    catalog: Catalog,
    made: OnceLock<Knowledge>,
}

impl LazyKnowledge {
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog, made: OnceLock::new() }
    }
}

impl Unify for LazyKnowledge {
    fn catalog_version(&self) -> u32 {
        self.catalog.version()
    }

    fn unify(&self, offer: &FeedOffer, settings: &FeedSettings) -> Unified {
        let knowledge = self.made.get_or_init(|| Knowledge::new(&self.catalog, Places::shipped()));
        Unify::unify(knowledge, offer, settings)
    }
}
