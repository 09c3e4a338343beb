//! What sections must agree on.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::section::Section;
use crate::error::ConfigError;

/// The snippets that a name means: itself, and those of its `Recursive` sections.
pub(super) fn meant<S: Borrow<Section> + Clone>(sections: &BTreeMap<String, S>, name: &str) -> Vec<S> {
    let mut found: Vec<S> = Vec::new();
    let mut names = vec![name.to_owned()];
    while let Some(name) = names.pop() {
        let Some(section) = sections.get(&name) else { continue };
        if section.borrow().is_snippet && found.iter().all(|other| other.borrow().name != name) {
            found.push(section.clone());
        }
        // The last is taken first: the order of the configuration is kept.
        names.extend(section.borrow().recursive.iter().rev().cloned());
    }
    found
}

/// The sections around one, nearest first.
pub(super) fn groups_above<'s, S: Borrow<Section>>(
    sections: &'s BTreeMap<String, S>,
    name: &'s str,
) -> impl Iterator<Item = &'s S> {
    let ends = name.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    ends.into_iter().rev().filter_map(move |end| sections.get(&name[..end]))
}

pub(super) fn check(sections: &BTreeMap<String, Section>) -> Result<(), ConfigError> {
    let mut topics: BTreeMap<&str, &Section> = BTreeMap::new();
    for section in sections.values() {
        let Some(input) = &section.input else { continue };
        let place = section.settings.place("InputTopic", section.place);
        for snippet in meant(sections, &section.name) {
            let accepted = snippet.work.as_ref().is_some_and(|work| work.inputs.contains(&input.format));
            if !accepted {
                return Err(ConfigError::at(
                    place,
                    format!(
                        "{} reads {} from topic {:?}, which snippet {} does not accept",
                        section.name, input.format, input.topic, snippet.name
                    ),
                ));
            }
        }
        let first = topics.entry(&input.topic).or_insert(section);
        let agree = first.input.as_ref().is_some_and(|other| other.key_text == input.key_text);
        if !agree {
            return Err(ConfigError::at(
                section.settings.place("KeyExtractor", place),
                format!(
                    "{} and {} read topic {:?} with different KeyExtractors; a message has one key",
                    first.name, section.name, input.topic
                ),
            ));
        }
    }
    Ok(())
}
