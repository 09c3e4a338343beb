//! Tables with tabs: `categories.tsv` (id, parent, name_en, name_ru, …, attributes), `attributes.tsv` (handle, …, name_en,
//! name_ru, values), `values.tsv` (handle, …, name_en, name_ru). Columns are found by their headings.

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Read, read_text};
use crate::error::Error;
use crate::model::Names;
use crate::write::{WrittenAttribute, WrittenCategory, slug};

pub(super) fn read(folder: &Path) -> Result<Read, Error> {
    let mut values: FxHashMap<String, Names> = FxHashMap::default();
    each_row(&folder.join("values.tsv"), ["handle", "name_en", "name_ru", ""], |[handle, en, ru, _]| {
        values.insert(handle.to_owned(), names(en, ru));
        Ok(())
    })?;
    let mut attributes = Vec::new();
    let mut known = FxHashSet::default();
    each_row(
        &folder.join("attributes.tsv"),
        ["handle", "name_en", "name_ru", "values"],
        |[handle, en, ru, list]| {
            let mut of_attribute = Vec::new();
            let (mut seen, mut ids) = (FxHashSet::default(), FxHashSet::default());
            for value in list.split(',').filter(|value| !value.is_empty() && seen.insert(*value)) {
                let names = values.get(value).ok_or_else(|| format!("there is no value `{value}`"))?;
                // `color__black` is the value `black` of `color`.
                let short = value.split_once("__").map_or(value, |(_, short)| short);
                of_attribute.push((own_id(short, &mut ids), names.clone()));
            }
            of_attribute.sort_by(|a, b| a.0.cmp(&b.0));
            known.insert(handle.to_owned());
            attributes.push(WrittenAttribute {
                id: slug(handle),
                names: names(en, ru),
                values: of_attribute,
            });
            Ok(())
        },
    )?;
    let mut categories: Vec<WrittenCategory> = Vec::new();
    each_row(
        &folder.join("categories.tsv"),
        ["id", "name_en", "name_ru", "parent"],
        |[id, en, ru, parent]| {
            let parent = (!parent.is_empty()).then(|| slug(parent));
            categories.push(WrittenCategory {
                id: slug(id),
                parent,
                names: names(en, ru),
                attributes: Vec::new(),
            });
            Ok(())
        },
    )?;
    let mut number = 0;
    each_row(&folder.join("categories.tsv"), ["attributes", "", "", ""], |[list, ..]| {
        let of_category = list.split(',').filter(|one| !one.is_empty());
        for one in of_category {
            if !known.contains(one) {
                return Err(format!("there is no attribute `{one}`"));
            }
            categories[number].attributes.push(slug(one));
        }
        number += 1;
        Ok(())
    })?;
    Ok(Read { categories, attributes, one_language: false })
}

/// `A`, `A+` and `A++` are three values, of which an id has only the letter: they are `a`, `a-2` and `a-3`.
fn own_id(short: &str, ids: &mut FxHashSet<String>) -> String {
    let plain = slug(short);
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut free = std::iter::once(plain.clone()).chain(numbered).filter(|id| ids.insert(id.clone()));
    free.next().unwrap_or_default()
}

/// A name that is missing in one language is the other's.
fn names(en: &str, ru: &str) -> Names {
    let or = |own: &str, other: &str| if own.is_empty() { other.to_owned() } else { own.to_owned() };
    Names { ru: or(ru, en), en: or(en, ru) }
}

/// Calls with the cells of the wanted columns of each row; a column without a name is empty.
fn each_row(
    path: &Path,
    columns: [&str; 4],
    mut row: impl FnMut([&str; 4]) -> Result<(), String>,
) -> Result<(), Error> {
    let text = read_text(path)?;
    let wrong = |line: usize, message: &str| Error::Import(format!("{}:{line}: {message}", path.display()));
    let mut lines = text.lines().enumerate();
    let (_, headings) = lines.next().ok_or_else(|| wrong(1, "the table is empty"))?;
    let headings: Vec<&str> = headings.split('\t').collect();
    let mut positions = [None; 4];
    for (position, column) in positions.iter_mut().zip(columns).filter(|(_, column)| !column.is_empty()) {
        let found = headings.iter().position(|heading| *heading == column);
        *position = Some(found.ok_or_else(|| wrong(1, &format!("there is no column `{column}`")))?);
    }
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell =
            |position: Option<usize>| position.and_then(|at| cells.get(at)).map_or("", |cell| cell.trim());
        row(positions.map(cell)).map_err(|message| wrong(number + 1, &message))?;
    }
    Ok(())
}
