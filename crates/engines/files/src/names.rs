use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use store::Shard;

use crate::{Error, Kind};

/// The BLAKE3 hash of a file's content: its name for ever. Written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash of bytes that are at hand.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The shard in which the file's rows live.
    pub fn shard(&self) -> Shard {
        Shard::of(&self.to_string())
    }

    pub(crate) fn from_column(bytes: &[u8]) -> Result<Self, Error> {
        let bytes =
            bytes.try_into().map_err(|_| Error::new(Kind::Corrupt, "a stored hash is not 32 bytes"))?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let hash = blake3::Hash::from_hex(text)
            .map_err(|error| Error::with_source(Kind::Invalid, "a file's hash is 64 hex digits", error))?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Who holds a file, such as `feeds:seller/ns/task`: the part before the colon is the system that is asked by the
/// sweep, the rest is its own business.
///
/// A referrer names **one use**: once it has released a file it does not take the same file again. A release is
/// delivered at least once, and nothing tells its repeat from a release of the second use. What can be used again
/// carries a number in its name (a task id, a request id).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Referrer(String);

/// Longest text of a referrer, so that every key made from it fits.
pub const MAX_REFERRER_BYTES: usize = 1_024;

impl Referrer {
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        let system = text.split_once(':').map_or("", |(system, _)| system);
        if system.is_empty() || text.len() > MAX_REFERRER_BYTES || text.contains('\0') {
            return Err(Error::new(
                Kind::Invalid,
                format!("a referrer is system:name of at most {MAX_REFERRER_BYTES} bytes, not {text:?}"),
            ));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The system that is asked about it.
    pub fn system(&self) -> &str {
        self.0.split_once(':').map_or("", |(system, _)| system)
    }
}

impl fmt::Display for Referrer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of an object: the content's hash and the generation. No name is ever given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    pub hash: Hash,
    pub generation: u64,
}

impl ObjectName {
    /// The name of the object below its two folders.
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.hash, self.generation)
    }

    /// Reads a path back; `None` for what is not an object of ours.
    pub fn from_path(path: &str) -> Option<Self> {
        let file = path.rsplit('/').next()?;
        let (hash, generation) = file.split_once('.')?;
        let name = Self { hash: hash.parse().ok()?, generation: generation.parse().ok()? };
        // One spelling only, so that a name found is a name that can be deleted.
        path.ends_with(&name.to_string()).then_some(name)
    }
}

/// `ab/cd/abcd….7`: two levels of folders, as many files in each as a file system likes.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, ..] = self.hash.0;
        write!(f, "{first:02x}/{second:02x}/{}.{}", self.hash, self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_read_back_what_they_write_and_nothing_else() {
        let hash = Hash::of(b"dvor");
        assert_eq!(hash.to_string().parse::<Hash>().unwrap(), hash);
        for wrong in ["", "abc", &hash.to_string()[1..], &hash.to_string().replace('a', "g")] {
            assert!(wrong.parse::<Hash>().is_err() || *wrong == hash.to_string(), "{wrong:?}");
        }
    }

    #[test]
    fn object_names_read_back_and_foreign_files_are_no_objects() {
        let name = ObjectName { hash: Hash::of(b""), generation: 12 };
        assert_eq!(
            name.to_string(),
            "af/13/af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262.12"
        );
        assert_eq!(ObjectName::from_path(&name.to_string()), Some(name));
        assert_eq!(ObjectName::from_path(&format!("prefix/{name}")), Some(name));
        let file = name.file_name();
        for foreign in ["", "af/13/readme.txt", &file, &format!("aa/13/{file}"), &format!("{name}0x")] {
            assert_eq!(ObjectName::from_path(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn a_referrer_names_its_system() {
        assert_eq!(Referrer::new("feeds:s-1/default/7").unwrap().system(), "feeds");
        for wrong in ["", "feeds", ":x", "feeds:\0", &format!("feeds:{}", "x".repeat(1_024))] {
            assert!(Referrer::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
