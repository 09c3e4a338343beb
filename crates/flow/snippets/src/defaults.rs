//! The configuration that comes with Dvor, for those who name none.

pub(crate) const CONFIG: &str = "Body { ChildrenOnly: true InputSameAsOutput: true Output: JSON Service: \"main\" Section { Name: \"notes\" Body { } } }";
pub(crate) const PREFIXES: &str = "notes 1\n";
pub(crate) const FILES: &[(&str, &str)] = &[];
