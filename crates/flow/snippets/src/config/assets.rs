use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Where the files lie that a configuration names.
#[derive(Debug)]
pub enum Assets {
    /// The folder of the configuration.
    Folder(PathBuf),
    /// Part of the program.
    Embedded(&'static [(&'static str, &'static str)]),
    /// Those of another, with a note of what was read.
    Noted(Box<Assets>, Mutex<BTreeMap<String, blake3::Hash>>),
}

impl Assets {
    pub(super) fn noted(self) -> Self {
        Self::Noted(Box::new(self), Mutex::default())
    }

    /// A hash of the configuration's text and of every file that was read for it.
    pub(super) fn hash_with(&self, text: &str) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(blake3::hash(text.as_bytes()).as_bytes());
        if let Self::Noted(_, read) = self {
            for (name, file) in read.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                hash.update(blake3::hash(name.as_bytes()).as_bytes()).update(file.as_bytes());
            }
        }
        hash.finalize().to_hex()[..16].to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> Result<Cow<'static, [u8]>, String> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                let read = std::fs::read(&path);
                read.map(Cow::Owned).map_err(|error| format!("{} cannot be read: {error}", path.display()))
            }
            Self::Embedded(files) => {
                let found = files.iter().find(|(file, _)| *file == name);
                found
                    .map(|(_, text)| Cow::Borrowed(text.as_bytes()))
                    .ok_or_else(|| format!("there is no file {name}"))
            }
            Self::Noted(assets, read) => {
                let bytes = assets.read(name)?;
                let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                read.insert(name.to_owned(), blake3::hash(&bytes));
                Ok(bytes)
            }
        }
    }

    pub(crate) fn read_text(&self, name: &str) -> Result<String, String> {
        super::utf8(self.read(name)?.into_owned()).map_err(|error| format!("{name}: {error}"))
    }
}
