//! The catalog that is compiled into the program.

use crate::error::Error;
use crate::load::SourceFile;
use crate::model::Catalog;

/// Every file of `catalog/` and `catalog/maps/`; a test compares the list with the folder.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("catalog/", $name), include_str!(concat!("../../../../catalog/", $name)))),*]
    };
}

pub(crate) const FILES: &[(&str, &str)] = files![
    "animals.catalog",
    "attributes.catalog",
    "brands.catalog",
    "building.catalog",
    "business.catalog",
    "electronics.catalog",
    "hobby.catalog",
    "home.catalog",
    "jobs.catalog",
    "measures.catalog",
    "personal.catalog",
    "property.catalog",
    "services.catalog",
    "transport.catalog",
    "maps/czech.map",
    "maps/german.map",
    "maps/google.map",
    "maps/japanese.map",
    "maps/polish.map",
    "maps/segments.map",
    "maps/ukrainian.map",
];

impl Catalog {
    /// The newest version of the shipped catalog.
    pub fn shipped() -> Self {
        Self::from_files(&Self::shipped_files(), None).expect("the shipped catalog is checked by a test")
    }

    /// An earlier version of the shipped catalog; none when there never was one of that number.
    pub fn shipped_version(version: u32) -> Option<Self> {
        match Self::from_files(&Self::shipped_files(), Some(version)) {
            Err(Error::NoSuchVersion { .. }) => None,
            found => Some(found.expect("the shipped catalog is checked by a test")),
        }
    }

    /// The text of the shipped catalog, to begin one's own from.
    pub fn shipped_files() -> Vec<SourceFile> {
        let file = |(name, text): &(&str, &str)| SourceFile { name: (*name).into(), text: (*text).into() };
        FILES.iter().map(file).collect()
    }
}
