//! What an option names must be there even where nothing uses it: whoever wrote it takes it for working.

use std::collections::BTreeMap;

use super::make::Maker;
use super::options::Settings;
use super::outline::Place;
use super::section::Section;
use crate::convertors::described;
use crate::descriptors;
use crate::error::ConfigError;

/// The options that name something.
const NAMING: [&str; 9] = [
    "InputJsonSchema",
    "OutputJsonSchema",
    "SpecialValidator",
    "SpecialConvertor",
    "KeyExtractor",
    "VersionExtractor",
    "DescriptorSet",
    "InputMessage",
    "OutputMessage",
];

/// A section for which an option holds.
struct Holder<'s> {
    name: &'s str,
    settings: &'s Settings,
    place: Place,
    section: Option<&'s Section>,
}

/// Makes what no section has made yet. What a section sets may need more that only the sections within it say (a
/// convertor at the root, its messages below), so it is enough that one of those for which it holds can make it.
pub(super) fn check(
    maker: &Maker<'_>,
    root: (&Settings, Place),
    sections: &BTreeMap<String, Section>,
) -> Result<(), ConfigError> {
    let (settings, place) = root;
    let root = Holder { name: "the root", settings, place, section: None };
    let below = sections.values().map(|section| Holder {
        name: &section.name,
        settings: &section.settings,
        place: section.place,
        section: Some(section),
    });
    let holders: Vec<_> = std::iter::once(root).chain(below).collect();
    for option in NAMING {
        // By the section that set it. The sections are in order: that one comes first.
        let mut set: BTreeMap<&str, Vec<&Holder<'_>>> = BTreeMap::new();
        for holder in &holders {
            if let Some(setting) =
                holder.settings.get(option).filter(|_| holder.settings.text(option).is_some())
            {
                set.entry(&setting.section).or_default().push(holder);
            }
        }
        for holders in set.values() {
            if !holders.iter().any(|holder| holder.has_made(option)) {
                one_makes(maker, option, holders)?;
            }
        }
    }
    Ok(())
}

impl Holder<'_> {
    fn has_made(&self, option: &str) -> bool {
        self.section.is_some_and(|section| match option {
            "KeyExtractor" | "VersionExtractor" => section.input.is_some(),
            "DescriptorSet" | "InputMessage" | "OutputMessage" => false,
            _ => section.is_snippet,
        })
    }
}

fn one_makes(maker: &Maker<'_>, option: &str, holders: &[&Holder<'_>]) -> Result<(), ConfigError> {
    let mut first = Ok(());
    for holder in holders {
        let made = maker.try_named(option, holder.name, holder.settings, holder.place);
        if made.is_ok() {
            return made;
        }
        first = first.and(made);
    }
    first
}

impl Maker<'_> {
    /// Makes what one option names, only to see whether that is possible.
    fn try_named(
        &self,
        option: &str,
        name: &str,
        settings: &Settings,
        place: Place,
    ) -> Result<(), ConfigError> {
        let Some(text) = settings.text(option) else { return Ok(()) };
        let described = match option {
            "InputJsonSchema" | "OutputJsonSchema" => {
                return self.schema(name, option, settings, place).map(drop);
            }
            "SpecialValidator" => return self.validator(name, text, settings, place).map(drop),
            "SpecialConvertor" => return self.convertor(name, text, settings, place).map(drop),
            "KeyExtractor" | "VersionExtractor" => {
                return self.extractor(name, option, text, settings, place).map(drop);
            }
            "DescriptorSet" => descriptors::load(&self.assets, text).map(drop),
            _ => described(&self.making(settings), Some(text)).map(drop),
        };
        described.map_err(|reason| {
            ConfigError::at(settings.place(option, place), format!("{option} {text:?} of {name}: {reason}"))
        })
    }
}
