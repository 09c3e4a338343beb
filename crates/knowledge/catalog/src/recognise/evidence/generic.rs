//! Words that name no category by themselves.
//!
//! «Запчасти», «Аксессуары», «Разное»: below a named parent they mean parts, accessories or the rest *of that parent*. «Все
//! товары», «Распродажа» say nothing at all.

use rustc_hash::FxHashSet;

use crate::model::Catalog;

/// Says nothing about the goods.
const EMPTY: &[&str] = &[
    "разное",
    "прочее",
    "прочие",
    "другое",
    "другие",
    "остальное",
    "товары",
    "товар",
    "каталог",
    "все",
    "распродажа",
    "скидки",
    "акция",
    "акции",
    "новинки",
    "новинка",
    "хит",
    "хиты",
    "продаж",
    "главная",
    "страница",
    "магазин",
    "продукция",
    "ассортимент",
    "коллекция",
    "коллекции",
    "виды",
    "оптом",
    "уценка",
    "other",
    "others",
    "misc",
    "miscellaneous",
    "all",
    "products",
    "product",
    "goods",
    "catalog",
    "catalogue",
    "sale",
    "sales",
    "home",
    "page",
    "shop",
    "store",
    "featured",
    "uncategorized",
    "default",
    "root",
    "collection",
    "collections",
    "items",
    "clearance",
    "bestsellers",
    "группа",
    "group",
    "комплект",
    "набор",
];

/// Means parts or accessories of what else is named.
const PARTS: &[&str] = &[
    "запчасти",
    "запчасть",
    "запасные",
    "части",
    "детали",
    "деталь",
    "комплектующие",
    "зип",
    "аксессуары",
    "аксессуар",
    "аксесуары",
    "принадлежности",
    "дополнительно",
    "расходники",
    "parts",
    "part",
    "spare",
    "spares",
    "components",
    "accessories",
    "accessory",
    "equipment",
    "supplies",
    "комплектация",
    "оснастка",
];

/// A category whose name has one of these holds parts or accessories of its neighbours.
const HOLDS_PARTS: &[&str] = &["запчасти", "аксессуары", "комплектующие", "parts", "accessories"];

/// The stems of these words, and for each category the one that holds parts or accessories of it.
pub(in crate::recognise) struct Generics {
    empty: FxHashSet<String>,
    parts: FxHashSet<String>,
    parts_of: Vec<usize>,
}

/// What a word of a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Empty,
    Parts,
    Content,
}

impl Generics {
    pub(in crate::recognise) fn build(catalog: &Catalog) -> Self {
        let stems = |words: &[&str]| -> FxHashSet<String> {
            words.iter().flat_map(|word| words::stems(word)).collect()
        };
        let (empty, parts) = (stems(EMPTY), stems(PARTS));
        let mut generics = Self { empty, parts, parts_of: Vec::new() };
        let holds: FxHashSet<String> = stems(HOLDS_PARTS);
        let speaks = |name: &str| words::stems(name).iter().any(|stem| holds.contains(stem));
        let named: Vec<bool> = catalog
            .categories()
            .iter()
            .map(|category| speaks(&category.names.ru) || speaks(&category.names.en))
            .collect();
        generics.parts_of = (0..named.len()).map(|index| parts_of(catalog, &named, index)).collect();
        generics
    }

    /// The category of parts and accessories of a category: one that is named so below it or beside it, else itself.
    pub(super) fn parts_of(&self, category: usize) -> usize {
        self.parts_of[category]
    }

    /// Whether a name is one of parts or accessories of something.
    pub(in crate::recognise) fn speaks_of_parts(&self, name: &str) -> bool {
        words::stems(name).iter().any(|stem| self.parts.contains(stem))
    }

    pub(super) fn word(&self, folded: &str) -> Word {
        let stem = words::stem(folded);
        if self.empty.contains(stem.as_ref()) {
            Word::Empty
        } else if self.parts.contains(stem.as_ref()) {
            Word::Parts
        } else {
            Word::Content
        }
    }
}

fn parts_of(catalog: &Catalog, named: &[bool], index: usize) -> usize {
    if named[index] {
        return index;
    }
    let inner = &catalog.inner;
    let below = inner.children[index].iter().copied().find(|child| named[*child]);
    let beside = || {
        let parent = catalog.index_of(inner.categories[index].parent.as_deref()?)?;
        // Children of a root are far from each other: what they share must show in their attributes.
        let own = |category: usize| &inner.categories[category].own_attributes;
        let shares = |other: usize| own(other).iter().any(|attribute| own(index).contains(attribute));
        let is_root = inner.categories[parent].parent.is_none();
        inner.children[parent].iter().copied().find(|child| named[*child] && (!is_root || shares(*child)))
    };
    below.or_else(beside).unwrap_or(index)
}
