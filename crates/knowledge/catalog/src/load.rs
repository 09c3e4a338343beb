//! From a folder of files to a catalog.

use std::path::Path;
use std::sync::Arc;

use crate::check::check_all;
use crate::error::Error;
use crate::model::Catalog;
use crate::parse::parse;
use crate::resolve::resolve;
use crate::versions::changed_in;

/// The ending of the files that make up a catalog.
pub(crate) const EXTENSION: &str = "catalog";
/// The ending of the files with names of other languages and taxonomies, and their folder within the catalog's.
pub(crate) const MAP_EXTENSION: &str = "map";
const MAPS: &str = "maps";

/// A file of a catalog, with the name that problems are reported under.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
}

impl Catalog {
    /// The newest version of the catalog in a folder.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_files(&read_folder(folder.as_ref())?, None)
    }

    /// A version of the catalog in a folder.
    pub fn load_version(folder: impl AsRef<Path>, version: u32) -> Result<Self, Error> {
        Self::from_files(&read_folder(folder.as_ref())?, Some(version))
    }

    /// The catalog in these files: the newest version, or the one that is asked for.
    pub fn from_files(files: &[SourceFile], version: Option<u32>) -> Result<Self, Error> {
        let (draft, problems) = parse(files);
        let problems = check_all(&draft, problems);
        if !problems.is_empty() {
            return Err(Error::Invalid(problems));
        }
        let asked = version.unwrap_or(draft.version);
        if asked == 0 || asked > draft.version {
            return Err(Error::NoSuchVersion { asked, newest: draft.version });
        }
        let catalog = resolve(&draft, asked).0;
        Ok(Self { changed_in: Arc::new(changed_in(&draft, &catalog)), ..catalog })
    }
}

pub(crate) fn read_folder(folder: &Path) -> Result<Vec<SourceFile>, Error> {
    let mut files = read_files(folder, EXTENSION)?;
    if files.is_empty() {
        return Err(Error::Empty(folder.display().to_string()));
    }
    let maps = folder.join(MAPS);
    if maps.is_dir() {
        files.extend(read_files(&maps, MAP_EXTENSION)?);
    }
    Ok(files)
}

/// The files of a folder with this ending, by name.
fn read_files(folder: &Path, ending: &str) -> Result<Vec<SourceFile>, Error> {
    let read = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Read { path: path.display().to_string(), source }
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read(folder))? {
        let path = entry.map_err(read(folder))?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            let text = std::fs::read_to_string(&path).map_err(read(&path))?;
            files.push(SourceFile { name: path.display().to_string(), text });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
