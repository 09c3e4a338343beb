//! What sections must agree on.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::section::{Section, Work};
use crate::Format;
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

/// What a schema looks at, by the option that names it.
type HasEffect = fn(&Work) -> bool;
const SCHEMAS: [(&str, HasEffect); 2] = [
    ("InputJsonSchema", |work| work.inputs.contains(&Format::Json)),
    ("OutputJsonSchema", |work| work.output == Format::Json),
];

/// A section that `Recursive` names must have something to write.
fn check_recursive(sections: &BTreeMap<String, Section>) -> Result<(), ConfigError> {
    for section in sections.values() {
        if let Some(idle) = section.recursive.iter().find(|name| meant(sections, name).is_empty()) {
            return Err(ConfigError::at(
                section.settings.place("Recursive", section.place),
                format!(
                    "Recursive of {} names {idle}, a group that writes nothing: it is no snippet itself and has no \
                     Recursive of its own",
                    section.name
                ),
            ));
        }
    }
    Ok(())
}

/// A schema for JSON must hold for a snippet that has JSON, or nobody is ever checked by it.
fn check_schemas(
    sections: &BTreeMap<String, Section>,
    option: &str,
    has_effect: HasEffect,
) -> Result<(), ConfigError> {
    let mut set: BTreeMap<&str, (&Section, bool)> = BTreeMap::new();
    for section in sections.values() {
        let Some(setting) = section.settings.get(option) else { continue };
        let (Some(work), Some(_)) = (&section.work, section.settings.text(option)) else { continue };
        set.entry(&setting.section).or_insert((section, false)).1 |= has_effect(work);
    }
    let idle = set.into_values().find(|(_, has_effect)| !has_effect);
    let Some((section, _)) = idle else { return Ok(()) };
    let side = if option == "InputJsonSchema" { "takes" } else { "gives" };
    Err(ConfigError::at(
        section.settings.place(option, section.place),
        format!(
            "{option} has no effect: no snippet for which it holds {side} JSON ({} does not)",
            section.name
        ),
    ))
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
    check_recursive(sections)?;
    for (option, has_effect) in SCHEMAS {
        check_schemas(sections, option, has_effect)?;
    }
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
