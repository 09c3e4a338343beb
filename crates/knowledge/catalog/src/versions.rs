//! What a new version of a catalog means for offers that were described by an earlier one.

use rustc_hash::FxHashMap;

use crate::model::{AttributeKind, Catalog};
use crate::parse::Draft;
use crate::resolve::resolve;

/// Of each category of this version: the last version in which what its offers may say changed; none: never.
pub(crate) fn changed_in(draft: &Draft, catalog: &Catalog) -> FxHashMap<String, u32> {
    let mut changed = FxHashMap::default();
    let mut before = None::<Catalog>;
    for version in 1..=catalog.version() {
        let this = if version == catalog.version() { catalog.clone() } else { resolve(draft, version).0 };
        if let Some(before) = &before {
            for category in this.categories() {
                let known = before.category(&category.id).is_some();
                if known && described(before, &category.id) != described(&this, &category.id) {
                    changed.insert(category.id.clone(), version);
                }
            }
        }
        before = Some(this);
    }
    changed
}

/// What an offer of the category may say. Names and synonyms play no part: they are not kept in offers.
fn described<'a>(catalog: &'a Catalog, category: &str) -> Vec<(&'a str, Values<'a>)> {
    let mut all: Vec<_> =
        catalog.each_attribute_of(category).map(|one| (one.id.as_str(), Values::of(&one.kind))).collect();
    all.sort_by_key(|(id, _)| *id);
    all
}

#[derive(PartialEq)]
enum Values<'a> {
    Options(Vec<&'a str>, bool),
    Number(Option<&'a str>, Option<f64>, Option<f64>),
    Text(usize),
    Flag,
}

impl<'a> Values<'a> {
    fn of(kind: &'a AttributeKind) -> Self {
        match kind {
            AttributeKind::Enum { values, open } => {
                Self::Options(values.iter().map(|value| value.id.as_str()).collect(), *open)
            }
            AttributeKind::Number { unit, min, max, .. } => Self::Number(unit.as_deref(), *min, *max),
            AttributeKind::Text { max_chars } => Self::Text(*max_chars),
            AttributeKind::Bool => Self::Flag,
        }
    }
}
