//! Recognition: what a seller wrote, in terms of the catalog. Built once per catalog, then only read.

mod attributes;
mod evidence;
mod lexicon;
mod nearest;
mod number;
mod phrases;
mod rarity;
mod title;
mod values;

pub use attributes::{AttributeProblem, Given, ProblemKind, RecognisedAttributes, Source, Typed, Value};
pub use evidence::{Decision, Evidence, EvidenceKind, MAX_TITLES, SUGGESTED, SellerCategory, TAKEN};

use rustc_hash::FxHashMap;

use crate::model::Catalog;
use evidence::Generics;
use lexicon::Lexicon;
use phrases::Phrases;
use rarity::Rarity;
use values::Values;

/// The category that a title was taken for.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// The best category, whether or not it is good enough; none when no word is known.
    pub category: Option<String>,
    /// From 0 to 1.
    pub score: f32,
    /// The score is over the threshold and nothing else comes close: the category may be used.
    pub confident: bool,
    /// Up to three, the best first.
    pub suggestions: Vec<Suggestion>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    pub category: String,
    pub score: f32,
}

/// The index of one catalog.
pub struct Recogniser {
    catalog: Catalog,
    lexicon: Lexicon,
    phrases: Phrases,
    rarity: Rarity,
    values: Values,
    /// Of each category the words of its names and of its ancestors', sorted.
    context: Vec<Vec<u32>>,
    /// Of each category the one above it.
    parents: Vec<Option<usize>>,
    generics: Generics,
    /// Paths of other taxonomies, folded.
    known_paths: FxHashMap<String, usize>,
}

impl Catalog {
    /// Builds the index that recognises titles and attributes; takes a moment, so keep it.
    pub fn recogniser(&self) -> Recogniser {
        let mut lexicon = Lexicon::default();
        let phrases = Phrases::build(self, &mut lexicon);
        let values = Values::build(self, &mut lexicon);
        let generics = Generics::build(self);
        let rarity = Rarity::build(self, &lexicon, &generics);
        let context = context(self, &lexicon);
        let parent =
            |category: &crate::model::Category| category.parent.as_deref().and_then(|id| self.index_of(id));
        let parents = self.categories().iter().map(parent).collect();
        let foreign = self.inner.foreign.iter();
        let known_paths = foreign.map(|(name, category)| (folded_path(name.split('>')), *category)).collect();
        Recogniser {
            catalog: self.clone(),
            lexicon,
            phrases,
            rarity,
            values,
            context,
            parents,
            generics,
            known_paths,
        }
    }
}

impl Recogniser {
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The category of an offer by its title and, if there is one, the seller's own category path from the root down. A
    /// path that says anything goes before the title.
    pub fn recognise(&self, title: &str, seller_path: &[&str]) -> Recognised {
        match evidence::decide_one(self, title, seller_path) {
            Some(decision) => self.recognise_within(title, decision),
            None => title::recognise(self, title),
        }
    }

    /// The category of an offer in a seller's category that is decided: what the title names below the decision.
    pub fn refine<'a>(&'a self, title: &str, decided: &'a str) -> &'a str {
        let below = self.catalog.index_of(decided).and_then(|decided| title::below(self, title, decided));
        below.map_or(decided, |below| &self.catalog.categories()[below].id)
    }

    fn recognise_within(&self, title: &str, decision: Decision) -> Recognised {
        let Decision { category, probability: score, mut suggestions, .. } = decision;
        let confident = category.is_some();
        let best = category.or_else(|| suggestions.first().map(|one| one.category.clone()));
        let category = best.map(|best| self.refine(title, &best).to_owned());
        if let (Some(category), Some(first)) = (&category, suggestions.first_mut()) {
            first.category.clone_from(category);
        }
        Recognised { category, score, confident, suggestions }
    }

    /// The category of a path that is one of another taxonomy's.
    fn known_path(&self, path: &[&str]) -> Option<usize> {
        (path.len() > 1).then(|| self.known_paths.get(&folded_path(path.iter().copied())).copied()).flatten()
    }

    /// The category of a segment that a map names as one (`Women >`).
    fn known_segment(&self, folded: &str) -> Option<usize> {
        self.known_paths.get(&format!("{}>", folded.trim())).copied()
    }

    /// Whether a category is the other or lies below it.
    fn is_under(&self, category: usize, above: usize) -> bool {
        std::iter::successors(Some(category), |at| self.parents[*at]).any(|at| at == above)
    }

    /// A root with categories below it: it says too little of an offer to hold it.
    fn is_top(&self, category: usize) -> bool {
        self.parents[category].is_none() && !self.catalog.inner.children[category].is_empty()
    }

    /// The part of the catalog that a category belongs to: its ancestor below the root, or itself.
    fn branch(&self, category: usize) -> usize {
        let mut at = category;
        while let Some(parent) = self.parents[at]
            && self.parents[parent].is_some()
        {
            at = parent;
        }
        at
    }

    /// The typed values of what the seller gave under his own names, completed from the title.
    pub fn recognise_attributes(
        &self,
        category: &str,
        given: &[Given<'_>],
        title: &str,
    ) -> RecognisedAttributes {
        attributes::recognise(self, category, given, title)
    }
}

fn folded_path<'a>(path: impl Iterator<Item = &'a str>) -> String {
    path.map(|segment| words::fold(segment.trim())).collect::<Vec<_>>().join(">")
}

fn context(catalog: &Catalog, lexicon: &Lexicon) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = Vec::with_capacity(catalog.categories().len());
    for category in catalog.categories() {
        let parent = category.parent.as_deref().and_then(|parent| catalog.index_of(parent));
        let mut tokens = parent.map(|parent| all[parent].clone()).unwrap_or_default();
        for text in
            [category.names.ru.as_str(), &category.names.en].into_iter().chain(category.synonyms.all())
        {
            let telling = lexicon.read(text).tokens.into_iter().filter(|token| token.telling);
            tokens.extend(telling.map(|token| token.id));
        }
        tokens.sort_unstable();
        tokens.dedup();
        all.push(tokens);
    }
    all
}
