//! Other taxonomies, brought into our format.

mod google;
mod table;

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::write::{self, WrittenAttribute, WrittenCategory};

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    pub categories: usize,
    pub attributes: usize,
    pub values: usize,
    /// Only one language was given, and its names stand for both.
    pub one_language: bool,
}

struct Read {
    categories: Vec<WrittenCategory>,
    attributes: Vec<WrittenAttribute>,
    one_language: bool,
}

/// Reads a taxonomy and writes it as a catalog into a folder, which must be new or empty. The source is a folder with
/// `categories.tsv`, `attributes.tsv` and `values.tsv`, or one or two files of Google's product taxonomy (English and
/// Russian).
pub fn import(sources: &[PathBuf], target: &Path) -> Result<Imported, Error> {
    let read = match sources {
        [folder] if folder.is_dir() => table::read(folder)?,
        [one] => google::read(one, None)?,
        [one, two] => google::read(one, Some(two))?,
        _ => return Err(Error::Import("a taxonomy is one folder of tables, or one or two files".into())),
    };
    let failed = |source| Error::Write { path: target.display().to_string(), source };
    std::fs::create_dir_all(target).map_err(failed)?;
    if std::fs::read_dir(target).map_err(failed)?.next().is_some() {
        return Err(Error::Import(format!("{} is not empty; name a new folder", target.display())));
    }
    let mut text = String::from("version 1\n\n");
    for attribute in &read.attributes {
        write::attribute(&mut text, attribute);
    }
    write::write_file(target, "attributes", &text)?;
    for (root, text) in by_root(&read.categories) {
        write::write_file(target, &format!("categories-{root}"), &text)?;
    }
    Ok(Imported {
        categories: read.categories.len(),
        attributes: read.attributes.len(),
        values: read.attributes.iter().map(|attribute| attribute.values.len()).sum(),
        one_language: read.one_language,
    })
}

/// A file for each root; parents stand before their children.
fn by_root(categories: &[WrittenCategory]) -> Vec<(String, String)> {
    let mut root_of = rustc_hash::FxHashMap::default();
    let mut files: Vec<(String, String)> = Vec::new();
    for category in categories {
        let known = category.parent.as_ref().and_then(|parent| root_of.get(parent.as_str())).copied();
        let file = known.unwrap_or_else(|| {
            files.push((category.id.clone(), String::new()));
            files.len() - 1
        });
        root_of.insert(category.id.as_str(), file);
        write::category(&mut files[file].1, category);
    }
    files
}

fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.display().to_string(), source })
}
