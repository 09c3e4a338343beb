//! Sections by their whole names: names with slashes unfold into nested sections.

use std::collections::BTreeMap;

use super::text::Written;
use crate::error::ConfigError;

/// The longest absolute name: it is part of keys of the store, which are bounded too.
const MAX_NAME_BYTES: usize = 255;

/// A section of the unfolded tree; one that only a name with slashes asks for is not written anywhere.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) written: Option<&'a Written>,
    pub(super) children: BTreeMap<String, Node<'a>>,
}

pub(super) fn unfold(root: &Written) -> Result<Node<'_>, ConfigError> {
    if !root.name.is_empty() {
        return Err(ConfigError::at(root.place, format!("the root has no name, not {:?}", root.name)));
    }
    let mut node = Node { written: Some(root), children: BTreeMap::new() };
    for section in &root.sections {
        insert(&mut node, section, "")?;
    }
    Ok(node)
}

fn insert<'a>(parent: &mut Node<'a>, written: &'a Written, within: &str) -> Result<(), ConfigError> {
    let mut node = parent;
    if written.name.is_empty() {
        return Err(ConfigError::at(written.place, "a section needs a name: Name: \"…\""));
    }
    for segment in written.name.split('/') {
        if let Some(reason) = refuse_segment(segment) {
            return Err(ConfigError::at(
                written.place,
                format!("{:?} cannot be a section's name: {reason}", written.name),
            ));
        }
        node = node.children.entry(segment.to_owned()).or_default();
    }
    let name = join(within, &written.name);
    if name.len() > MAX_NAME_BYTES {
        return Err(ConfigError::at(
            written.place,
            format!(
                "this name has {} bytes together with the sections around it; the most is {MAX_NAME_BYTES}",
                name.len()
            ),
        ));
    }
    if let Some(first) = node.written {
        let line = first.place.line;
        return Err(ConfigError::at(
            written.place,
            format!("section {name} is there twice, first in line {line}"),
        ));
    }
    node.written = Some(written);
    for section in &written.sections {
        insert(node, section, &name)?;
    }
    Ok(())
}

/// Why a text cannot be one segment of a name.
pub(crate) fn refuse_segment(segment: &str) -> Option<&'static str> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'.';
    match segment {
        "" => Some("there is nothing between two slashes, or at an end"),
        "." | ".." => Some(". and .. are not names"),
        _ if !segment.bytes().all(legal) => Some("names are made of a-z, 0-9, _ and ."),
        _ => None,
    }
}

pub(super) fn join(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}
