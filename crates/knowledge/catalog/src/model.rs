//! The catalog as it is used: one version, complete and checked.

use std::sync::Arc;

use rustc_hash::FxHashMap;
pub use words::Language;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub ru: String,
    pub en: String,
}

impl Names {
    pub fn get(&self, language: Language) -> &str {
        match language {
            Language::Russian => &self.ru,
            Language::English => &self.en,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synonyms {
    pub ru: Vec<String>,
    pub en: Vec<String>,
}

impl Synonyms {
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.ru.iter().chain(&self.en).map(String::as_str)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Category {
    pub id: String,
    pub parent: Option<String>,
    pub names: Names,
    pub synonyms: Synonyms,
    /// The attributes that this category adds to its ancestors', in the order of the file.
    pub own_attributes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub id: String,
    pub names: Names,
    pub synonyms: Synonyms,
    pub kind: AttributeKind,
    /// Whether an offer must have it: of the category that was asked for ([`Catalog::attributes_of`]), or of every
    /// category ([`Catalog::attribute`]).
    pub required: bool,
    /// The values are names of makers, so their words say nothing about the category.
    pub brand: bool,
    /// A value in a title with no category words at all means this category («Toyota Corolla, 2012» is a car).
    pub means: Option<String>,
    pub ssku_parameter: Option<SskuParameter>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AttributeKind {
    Enum {
        values: Vec<EnumValue>,
        /// A value that is not listed is kept as text.
        open: bool,
    },
    Number {
        /// What the value is kept in; none for a plain count.
        unit: Option<String>,
        min: Option<f64>,
        max: Option<f64>,
        /// Every spelling that is accepted, the kept one among them.
        units: Vec<Unit>,
    },
    Text {
        max_chars: usize,
    },
    Bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumValue {
    pub id: String,
    pub names: Names,
    pub synonyms: Synonyms,
}

/// A unit that a number may be written in: the kept number is the written one times `factor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub spellings: Vec<String>,
    pub factor: f64,
}

/// The parameter of silver that this attribute becomes, and the unit it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SskuParameter {
    pub id: String,
    pub unit: Option<String>,
}

/// One version of the tree of categories and their attributes. Clones share it.
#[derive(Clone, Debug)]
pub struct Catalog {
    pub(crate) inner: Arc<Inner>,
    /// Since which version a category's offers are described as they are in this one; none: since the first.
    pub(crate) changed_in: Arc<FxHashMap<String, u32>>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) version: u32,
    /// Parents stand before their children.
    pub(crate) categories: Vec<Category>,
    pub(crate) category_index: FxHashMap<String, usize>,
    pub(crate) children: Vec<Vec<usize>>,
    pub(crate) roots: Vec<usize>,
    pub(crate) attributes: Vec<Attribute>,
    /// The same attributes, as a category that requires them sees them.
    pub(crate) required_attributes: Vec<Attribute>,
    pub(crate) attribute_index: FxHashMap<String, usize>,
    /// Of each category: all attributes from the root down, and whether it must have them.
    pub(crate) attributes_of: Vec<Vec<(usize, bool)>>,
    /// Of each category: the attributes by which like offers are told from others, from the root down.
    pub(crate) keys_of: Vec<Vec<usize>>,
    pub(crate) replaced: FxHashMap<String, String>,
    /// Names of other languages and taxonomies, and the categories that they mean.
    pub(crate) foreign: Vec<(String, usize)>,
}

impl Catalog {
    pub fn version(&self) -> u32 {
        self.inner.version
    }

    pub fn category(&self, id: &str) -> Option<&Category> {
        self.index_of(id).map(|index| &self.inner.categories[index])
    }

    /// All categories, parents before children.
    pub fn categories(&self) -> &[Category] {
        &self.inner.categories
    }

    /// The names from the root to this category; empty when there is no such category.
    pub fn path(&self, id: &str, language: Language) -> Vec<&str> {
        let mut path: Vec<&str> = self.ancestry(id).map(|category| category.names.get(language)).collect();
        path.reverse();
        path
    }

    /// The category and its ancestors, upwards.
    pub fn ancestry(&self, id: &str) -> impl Iterator<Item = &Category> {
        std::iter::successors(self.category(id), |category| {
            category.parent.as_deref().and_then(|parent| self.category(parent))
        })
    }

    /// Its own attributes and those of its ancestors, the ancestors' first.
    pub fn attributes_of(&self, category_id: &str) -> Vec<&Attribute> {
        self.each_attribute_of(category_id).collect()
    }

    /// The same, one after the other.
    pub fn each_attribute_of(&self, category_id: &str) -> impl Iterator<Item = &Attribute> {
        let of = |&(attribute, required): &(usize, bool)| {
            let list = if required { &self.inner.required_attributes } else { &self.inner.attributes };
            &list[attribute]
        };
        self.index_of(category_id)
            .into_iter()
            .flat_map(move |index| self.inner.attributes_of[index].iter().map(of))
    }

    /// The attributes by which like offers are told from others: its ancestors' and its own.
    pub fn keys_of(&self, category_id: &str) -> impl Iterator<Item = &Attribute> {
        let index = self.index_of(category_id).into_iter();
        index.flat_map(|index| self.inner.keys_of[index].iter().map(|key| &self.inner.attributes[*key]))
    }

    /// Whether an offer that was described by this version of the category may be described otherwise by now: the
    /// category was replaced, or its attributes or their values changed. Never for a version that is not earlier.
    pub fn changed_since(&self, category_id: &str, version: u32) -> bool {
        let changed_in = self.changed_in.get(category_id).copied();
        let changed = changed_in.is_some_and(|changed| changed > version);
        version < self.inner.version && (changed || self.replaced_by(category_id).is_some())
    }

    pub fn attribute(&self, id: &str) -> Option<&Attribute> {
        self.inner.attribute_index.get(id).map(|index| &self.inner.attributes[*index])
    }

    pub fn attributes(&self) -> &[Attribute] {
        &self.inner.attributes
    }

    /// What took the place of a category or attribute of an earlier version; itself one of this version.
    pub fn replaced_by(&self, id: &str) -> Option<&str> {
        self.inner.replaced.get(id).map(String::as_str)
    }

    pub fn children(&self, id: &str) -> Vec<&Category> {
        let Some(index) = self.index_of(id) else { return Vec::new() };
        self.inner.children[index].iter().map(|child| &self.inner.categories[*child]).collect()
    }

    pub fn roots(&self) -> Vec<&Category> {
        self.inner.roots.iter().map(|root| &self.inner.categories[*root]).collect()
    }

    pub(crate) fn index_of(&self, category_id: &str) -> Option<usize> {
        self.inner.category_index.get(category_id).copied()
    }
}
