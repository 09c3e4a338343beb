//! From what the files say to one version of the catalog. Problems are collected; a catalog with problems is not used.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Problem;
use crate::model::{
    Attribute, AttributeKind, Catalog, Category, EnumValue, Inner, Names, SskuParameter, Synonyms, Unit,
};
use crate::parse::{
    At, AttributeDraft, CategoryDraft, Draft, KindDraft, Named, Statement, Versions, Wording,
};

pub(crate) fn resolve(draft: &Draft, version: u32) -> (Catalog, Vec<Problem>) {
    let mut problems = Vec::new();
    let categories: Vec<&CategoryDraft> =
        draft.categories.iter().filter(|category| category.versions.holds_in(version)).collect();
    let attributes: Vec<&AttributeDraft> =
        draft.attributes.iter().filter(|attribute| attribute.versions.holds_in(version)).collect();
    unique("category", categories.iter().map(|one| (&one.at, one.id.as_str())), &mut problems);
    unique("attribute", attributes.iter().map(|one| (&one.at, one.id.as_str())), &mut problems);
    unique("measure", draft.measures.iter().map(|one| (&one.at, one.id.as_str())), &mut problems);

    let order = parents_first(&categories, &mut problems);
    let made: Vec<Category> =
        order.iter().map(|&index| make_category(categories[index], version, &mut problems)).collect();
    let category_index = index(made.iter().map(|category| category.id.as_str()));
    let measures = measures(draft);
    let plain: Vec<Attribute> =
        attributes.iter().map(|one| make_attribute(one, version, &measures, &mut problems)).collect();
    for one in &attributes {
        if let Some(means) = one.means.as_ref().filter(|means| !category_index.contains_key(&means.says)) {
            problems.push(means.at.problem(format!("there is no category `{}` to mean", means.says)));
        }
    }
    let attribute_index = index(plain.iter().map(|attribute| attribute.id.as_str()));
    let in_order: Vec<&CategoryDraft> = order.iter().map(|&index| categories[index]).collect();
    let attributes_of = inherit(&in_order, version, &category_index, &attribute_index, &plain, &mut problems);
    let keys_of = keys(&in_order, version, &category_index, &plain, &attributes_of, &mut problems);
    let replaced = replacements(draft, version, &category_index, &attribute_index, &mut problems);

    let foreign = foreign(draft, version, &category_index, &mut problems);

    let mut children = vec![Vec::new(); made.len()];
    let mut roots = Vec::new();
    for (child, category) in made.iter().enumerate() {
        match category.parent.as_ref().and_then(|parent| category_index.get(parent)) {
            Some(parent) => children[*parent].push(child),
            None => roots.push(child),
        }
    }
    let required_attributes =
        plain.iter().map(|attribute| Attribute { required: true, ..attribute.clone() }).collect();
    let inner = Inner {
        version,
        categories: made,
        category_index,
        children,
        roots,
        attributes: plain,
        required_attributes,
        attribute_index,
        attributes_of,
        keys_of,
        replaced,
        foreign,
    };
    (Catalog { inner: Arc::new(inner), changed_in: Arc::default() }, problems)
}

/// A map is written for the newest version: what an earlier one does not have yet is left out.
fn foreign(
    draft: &Draft,
    version: u32,
    categories: &FxHashMap<String, usize>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for one in &draft.foreign {
        match categories.get(&one.id) {
            Some(category) => all.extend(one.names.iter().map(|name| (name.clone(), *category))),
            None if version == draft.version => {
                problems.push(one.at.problem(format!("there is no category `{}` to map to", one.id)));
            }
            None => {}
        }
    }
    all
}

fn measures(draft: &Draft) -> FxHashMap<&str, Vec<Unit>> {
    let unit =
        |(spellings, factor): &(Vec<String>, f64)| Unit { spellings: spellings.clone(), factor: *factor };
    let all = draft.measures.iter();
    all.map(|measure| (measure.id.as_str(), measure.units.iter().map(unit).collect())).collect()
}

fn unique<'a>(what: &str, ids: impl Iterator<Item = (&'a At, &'a str)>, problems: &mut Vec<Problem>) {
    let mut first: FxHashMap<&str, &At> = FxHashMap::default();
    for (at, id) in ids {
        if let Some(first) = first.get(id) {
            problems.push(
                at.problem(format!("the id `{id}` is taken by the {what} at {}:{}", first.file, first.line)),
            );
        } else {
            first.insert(id, at);
        }
    }
}

fn index<'a>(ids: impl Iterator<Item = &'a str>) -> FxHashMap<String, usize> {
    let mut index = FxHashMap::default();
    for (position, id) in ids.enumerate() {
        index.entry(id.to_owned()).or_insert(position);
    }
    index
}

/// The order in which every parent stands before its children; what hangs in a cycle or under nothing is a problem.
fn parents_first(categories: &[&CategoryDraft], problems: &mut Vec<Problem>) -> Vec<usize> {
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    for (position, category) in categories.iter().enumerate() {
        known.entry(&category.id).or_insert(position);
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); categories.len()];
    let mut order = Vec::with_capacity(categories.len());
    let mut lost = FxHashSet::default();
    for (position, category) in categories.iter().enumerate() {
        match &category.parent {
            None => order.push(position),
            Some(parent) => match known.get(parent.as_str()) {
                Some(&parent) => children[parent].push(position),
                None => {
                    problems
                        .push(category.at.problem(format!("there is no category `{parent}` to hang under")));
                    lost.insert(position);
                    order.push(position);
                }
            },
        }
    }
    let mut next = 0;
    while let Some(&parent) = order.get(next) {
        order.extend_from_slice(&children[parent]);
        next += 1;
    }
    if order.len() < categories.len() {
        let reached: FxHashSet<usize> = order.iter().copied().collect();
        for (position, category) in categories.iter().enumerate().filter(|(at, _)| !reached.contains(at)) {
            problems.push(category.at.problem(format!("`{}` hangs under itself", category.id)));
            order.push(position);
        }
    }
    order
}

fn wording(
    at: &At,
    id: &str,
    wording: &Wording,
    version: u32,
    problems: &mut Vec<Problem>,
) -> (Names, Synonyms) {
    let mut of = |statements: &[Statement<Named>], language: &str| {
        let mut holding = statements.iter().filter(|statement| statement.versions.holds_in(version));
        let Some(first) = holding.next() else {
            problems.push(at.problem(format!("`{id}` has no name in `{language}`")));
            return Named::default();
        };
        if let Some(second) = holding.next() {
            problems.push(second.at.problem(format!("`{id}` has a second name in `{language}`")));
        }
        first.says.clone()
    };
    let (ru, en) = (of(&wording.ru, "ru"), of(&wording.en, "en"));
    (Names { ru: ru.name, en: en.name }, Synonyms { ru: ru.synonyms, en: en.synonyms })
}

fn make_category(draft: &CategoryDraft, version: u32, problems: &mut Vec<Problem>) -> Category {
    let (names, synonyms) = wording(&draft.at, &draft.id, &draft.wording, version, problems);
    let own = draft.has.iter().filter(|has| has.versions.holds_in(version));
    Category {
        id: draft.id.clone(),
        parent: draft.parent.clone(),
        names,
        synonyms,
        own_attributes: own.map(|has| has.says.0.clone()).collect(),
    }
}

fn make_attribute(
    draft: &AttributeDraft,
    version: u32,
    measures: &FxHashMap<&str, Vec<Unit>>,
    problems: &mut Vec<Problem>,
) -> Attribute {
    let (names, synonyms) = wording(&draft.at, &draft.id, &draft.wording, version, problems);
    let kind = match &draft.kind {
        KindDraft::Enum => AttributeKind::Enum { values: values(draft, version, problems), open: false },
        KindDraft::Brands => AttributeKind::Enum { values: values(draft, version, problems), open: true },
        KindDraft::Text { max_chars } => AttributeKind::Text { max_chars: *max_chars },
        KindDraft::Bool => AttributeKind::Bool,
        KindDraft::Number { measure, min, max } => {
            let units = measure.as_ref().map(|measure| match measures.get(measure.as_str()) {
                Some(units) => units.clone(),
                None => {
                    problems.push(draft.at.problem(format!("there is no measure `{measure}`")));
                    Vec::new()
                }
            });
            AttributeKind::Number {
                unit: measure.clone(),
                min: *min,
                max: *max,
                units: units.unwrap_or_default(),
            }
        }
    };
    Attribute {
        id: draft.id.clone(),
        names,
        synonyms,
        kind,
        required: draft.required,
        brand: matches!(draft.kind, KindDraft::Brands),
        means: draft.means.as_ref().map(|means| means.says.clone()),
        ssku_parameter: draft.ssku.clone().map(|(id, unit)| SskuParameter { id, unit }),
    }
}

fn values(draft: &AttributeDraft, version: u32, problems: &mut Vec<Problem>) -> Vec<EnumValue> {
    let holding: Vec<_> = draft.values.iter().filter(|value| value.versions.holds_in(version)).collect();
    if holding.is_empty() {
        problems.push(draft.at.problem(format!("`{}` has no values", draft.id)));
    }
    unique("value", holding.iter().map(|value| (&value.at, value.says.id.as_str())), problems);
    let value = |statement: &&Statement<crate::parse::ValueDraft>| {
        let says = &statement.says;
        EnumValue {
            id: says.id.clone(),
            names: Names { ru: says.ru.name.clone(), en: says.en.name.clone() },
            synonyms: Synonyms { ru: says.ru.synonyms.clone(), en: says.en.synonyms.clone() },
        }
    };
    holding.iter().map(value).collect()
}

/// Of each category its ancestors' attributes and its own; a `!` anywhere on the way makes one required.
fn inherit(
    in_order: &[&CategoryDraft],
    version: u32,
    category_index: &FxHashMap<String, usize>,
    attribute_index: &FxHashMap<String, usize>,
    attributes: &[Attribute],
    problems: &mut Vec<Problem>,
) -> Vec<Vec<(usize, bool)>> {
    let mut all: Vec<Vec<(usize, bool)>> = Vec::with_capacity(in_order.len());
    for category in in_order {
        let parent = category.parent.as_ref().and_then(|parent| category_index.get(parent));
        let mut list = parent.and_then(|parent| all.get(*parent)).cloned().unwrap_or_default();
        for has in category.has.iter().filter(|has| has.versions.holds_in(version)) {
            let (id, required) = &has.says;
            let Some(&attribute) = attribute_index.get(id) else {
                problems.push(has.at.problem(format!("there is no attribute `{id}`")));
                continue;
            };
            let required = *required || attributes[attribute].required;
            match list.iter_mut().find(|(known, _)| *known == attribute) {
                Some(known) => known.1 |= required,
                None => list.push((attribute, required)),
            }
        }
        all.push(list);
    }
    all
}

/// Of each category the keys of its ancestors and its own. A key is an attribute of the category, and no free text, by
/// which no two offers are alike.
fn keys(
    in_order: &[&CategoryDraft],
    version: u32,
    category_index: &FxHashMap<String, usize>,
    attributes: &[Attribute],
    attributes_of: &[Vec<(usize, bool)>],
    problems: &mut Vec<Problem>,
) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::with_capacity(in_order.len());
    for (place, category) in in_order.iter().enumerate() {
        let parent = category.parent.as_ref().and_then(|parent| category_index.get(parent));
        let mut list = parent.and_then(|parent| all.get(*parent)).cloned().unwrap_or_default();
        for key in category.keys.iter().filter(|key| key.versions.holds_in(version)) {
            let mut of_category = attributes_of[place].iter().map(|(attribute, _)| *attribute);
            let problem = match of_category.find(|attribute| attributes[*attribute].id == key.says) {
                None => format!("`{}` has no attribute `{}` to be a key", category.id, key.says),
                Some(attribute) if matches!(attributes[attribute].kind, AttributeKind::Text { .. }) => {
                    format!("`{}` is a text, so it cannot be a key", key.says)
                }
                Some(attribute) => {
                    if !list.contains(&attribute) {
                        list.push(attribute);
                    }
                    continue;
                }
            };
            problems.push(key.at.problem(problem));
        }
        all.push(list);
    }
    all
}

/// Where the ids of earlier versions lead; a chain of links is followed to its end in this version.
fn replacements(
    draft: &Draft,
    version: u32,
    categories: &FxHashMap<String, usize>,
    attributes: &FxHashMap<String, usize>,
    problems: &mut Vec<Problem>,
) -> FxHashMap<String, String> {
    let gone = |versions: &Versions, id: &str| {
        versions.ended_before(version) && !categories.contains_key(id) && !attributes.contains_key(id)
    };
    let of_categories = draft.categories.iter().map(|one| (&one.versions, &one.id, &one.now));
    let of_attributes = draft.attributes.iter().map(|one| (&one.versions, &one.id, &one.now));
    let mut links: FxHashMap<&str, &Statement<String>> = FxHashMap::default();
    for (versions, id, now) in of_categories.chain(of_attributes) {
        if let Some(now) = now.as_ref().filter(|_| gone(versions, id)) {
            links.insert(id, now);
        }
    }
    let mut replaced = FxHashMap::default();
    for (id, link) in &links {
        let (mut target, mut steps) = (link.says.as_str(), 0);
        while let Some(next) = links.get(target).filter(|_| steps <= links.len()) {
            (target, steps) = (next.says.as_str(), steps + 1);
        }
        if categories.contains_key(target) || attributes.contains_key(target) {
            replaced.insert((*id).to_owned(), target.to_owned());
        } else {
            problems.push(link.at.problem(format!("`{id}` is replaced by `{target}`, which is not there")));
        }
    }
    replaced
}
