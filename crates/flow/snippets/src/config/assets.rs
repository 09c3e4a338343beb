use std::borrow::Cow;
use std::path::PathBuf;

/// Where the files lie that a configuration names.
#[derive(Debug)]
pub enum Assets {
    /// The folder of the configuration.
    Folder(PathBuf),
    /// Part of the program.
    Embedded(&'static [(&'static str, &'static str)]),
}

impl Assets {
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
        }
    }

    pub(crate) fn read_text(&self, name: &str) -> Result<String, String> {
        super::utf8(self.read(name)?.into_owned()).map_err(|error| format!("{name}: {error}"))
    }
}
