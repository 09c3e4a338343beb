//! What unifying needs from outside, behind one small trait: the catalog, the places, and which version they are.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use catalog::{Catalog, Decision, SellerCategory};
use geo::Places;
use model::{Content, Issue};
use wire::feeds::FeedSettings;

use crate::FeedOffer;
use crate::survey::CategoryDecision;
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

    /// The same by another version of the catalog, for loads that were made when it was in use; `None`: this process
    /// does not have it.
    fn of_version(&self, version: u32) -> Option<Arc<dyn Unify>>;

    /// What the seller's own categories are, in their order. Empty: records are recognised one by one.
    fn decide(&self, _categories: &[SellerCategory<'_>]) -> Vec<Decision> {
        Vec::new()
    }

    /// Blocking, and pure as far as the load is concerned: the same record gives the same content.
    fn unify(
        &self,
        offer: &FeedOffer,
        settings: &FeedSettings,
        decided: Option<&CategoryDecision>,
    ) -> Unified;
}

impl Unify for Knowledge {
    fn catalog_version(&self) -> u32 {
        self.recogniser.catalog().version()
    }

    fn of_version(&self, _version: u32) -> Option<Arc<dyn Unify>> {
        None
    }

    fn decide(&self, categories: &[SellerCategory<'_>]) -> Vec<Decision> {
        self.recogniser.decide(categories)
    }

    fn unify(
        &self,
        offer: &FeedOffer,
        settings: &FeedSettings,
        decided: Option<&CategoryDecision>,
    ) -> Unified {
        let mut wanted = unify::Settings { address: settings.address.clone(), ..unify::Settings::default() };
        if !settings.currency.is_empty() {
            wanted.currency.clone_from(&settings.currency);
        }
        let (content, issues) = unify::unify_decided(offer, self, &wanted, decided);
        Unified::Content(Box::new(content), issues)
    }
}

/// The knowledge of a catalog and of the shipped places, made when the first record needs it: most commands never do.
pub struct LazyKnowledge {
    catalog: Catalog,
    /// Where other versions of it are; `None`: it is the shipped one.
    folder: Option<PathBuf>,
    made: OnceLock<Knowledge>,
    /// Other versions that were asked for: few loads outlive their catalog.
    others: Mutex<HashMap<u32, Arc<LazyKnowledge>>>,
}

impl LazyKnowledge {
    pub fn new(catalog: Catalog, folder: Option<PathBuf>) -> Self {
        Self { catalog, folder, made: OnceLock::new(), others: Mutex::default() }
    }

    fn knowledge(&self) -> &Knowledge {
        self.made.get_or_init(|| Knowledge::new(&self.catalog, Places::shipped()))
    }
}

impl Unify for LazyKnowledge {
    fn catalog_version(&self) -> u32 {
        self.catalog.version()
    }

    fn of_version(&self, version: u32) -> Option<Arc<dyn Unify>> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(&version) {
            return Some(known.clone());
        }
        let catalog = match &self.folder {
            None => Catalog::shipped_version(version)?,
            Some(folder) => Catalog::load_version(folder, version).ok()?,
        };
        let other = Arc::new(Self::new(catalog, self.folder.clone()));
        others.insert(version, other.clone());
        Some(other)
    }

    fn decide(&self, categories: &[SellerCategory<'_>]) -> Vec<Decision> {
        self.knowledge().recogniser.decide(categories)
    }

    fn unify(
        &self,
        offer: &FeedOffer,
        settings: &FeedSettings,
        decided: Option<&CategoryDecision>,
    ) -> Unified {
        Unify::unify(self.knowledge(), offer, settings, decided)
    }
}
