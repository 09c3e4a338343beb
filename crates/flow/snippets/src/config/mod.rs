//! The configuration: a tree of sections in protobuf text format.
//!
//! `text.rs` reads it by our schema, `outline.rs` knows where each field stands, `tree.rs` unfolds names with slashes,
//! `options.rs` is inheritance, `values.rs` bounds the options, `make.rs` and `topic.rs` turn those of a section into what works,
//! `named.rs` looks at what no section uses, and `check.rs` refuses what cannot work together. A [`Draft`] is a right configuration without key prefixes; a [`Config`] has them.

mod assets;
mod check;
mod explain;
mod make;
mod named;
mod options;
mod outline;
mod section;
mod text;
mod topic;
mod tree;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub use assets::Assets;
pub use explain::{Decided, InForce};
pub use options::{Setting, Settings, Value};
pub use outline::Place;
pub use section::Section;
pub(crate) use section::{TopicInput, Work};
pub use text::option_names;
pub(crate) use text::{printed, utf8};
pub(crate) use tree::refuse_segment;

use self::tree::{Node, join};
use crate::Registry;
use crate::error::ConfigError;
use crate::prefixes::Prefixes;

/// A right configuration, whose snippets have no numbers yet.
#[derive(Clone)]
pub struct Draft {
    pub sections: BTreeMap<String, Section>,
    /// Of the text and of the files that it names.
    hash: String,
}

/// What the process works by.
pub struct Config {
    targets: HashMap<String, Target>,
    pub(crate) feeds: Vec<Feed>,
    hash: String,
}

/// A name that can be asked for, and the snippets that this means.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) section: Arc<Section>,
    pub(crate) snippets: Arc<[Arc<Section>]>,
}

/// A topic, and the sections that are made from its messages.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) topic: String,
    pub(crate) targets: Vec<(Target, Arc<TopicInput>)>,
}

impl Draft {
    pub fn read(text: &str, assets: Assets, registry: &Registry) -> Result<Self, ConfigError> {
        let root = text::read(text)?;
        let node = tree::unfold(&root)?;
        let maker = make::Maker { assets: Arc::new(assets.noted()), registry };
        let settings = Settings::default().within("", Some(&root));
        values::check("the root", &settings, root.place)?;
        make::recursive("", &node, &settings, root.place)?;
        let mut sections = BTreeMap::new();
        for (name, child) in &node.children {
            visit(&maker, child, name, &settings, root.place, &mut sections)?;
        }
        named::check(&maker, (&settings, root.place), &sections)?;
        check::check(&sections)?;
        // A file that somebody is about to write anew is empty for a moment.
        if !sections.values().any(|section| section.is_snippet) {
            let message = "there is no snippet in it, which nobody can mean";
            return Err(ConfigError::at(root.place, message));
        }
        let hash = maker.assets.hash_with(text);
        Ok(Self { sections, hash })
    }

    /// The snippets' names.
    pub fn snippets(&self) -> impl Iterator<Item = &str> {
        self.sections.values().filter(|section| section.is_snippet).map(|section| section.name.as_str())
    }

    /// Gives every snippet its number.
    pub fn numbered(mut self, prefixes: &Prefixes) -> Result<Config, ConfigError> {
        let hash = std::mem::take(&mut self.hash);
        for section in self.sections.values_mut().filter(|section| section.is_snippet) {
            section.number = prefixes.number(&section.name).ok_or_else(|| {
                ConfigError::at(
                    section.place,
                    format!(
                        "snippet {} has no key prefix; `dvor snippets prefixes` adds it to key_prefixes.txt",
                        section.name
                    ),
                )
            })?;
        }
        let sections: BTreeMap<_, _> =
            self.sections.into_iter().map(|(name, section)| (name, Arc::new(section))).collect();
        let targets: HashMap<_, _> = sections
            .iter()
            .map(|(name, section)| {
                let snippets = check::meant(&sections, name).into();
                (name.clone(), Target { section: section.clone(), snippets })
            })
            .collect();
        let feeds = feeds(&sections, &targets);
        Ok(Config { targets, feeds, hash })
    }
}

impl Config {
    /// Of the configuration's text and of the files that it names: processes that have the same work by the same.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(crate) fn target(&self, name: &str) -> Option<&Target> {
        self.targets.get(name)
    }

    /// Every section, groups and snippets, by name.
    pub fn sections(&self) -> Vec<&Arc<Section>> {
        let mut sections: Vec<_> = self.targets.values().map(|target| &target.section).collect();
        sections.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        sections
    }

    /// Every snippet with its number and its service.
    pub fn snippets(&self) -> impl Iterator<Item = &Arc<Section>> {
        self.targets.values().map(|target| &target.section).filter(|section| section.is_snippet)
    }
}

fn visit(
    maker: &make::Maker<'_>,
    node: &Node<'_>,
    name: &str,
    inherited: &Settings,
    within: Place,
    sections: &mut BTreeMap<String, Section>,
) -> Result<(), ConfigError> {
    let settings = inherited.within(name, node.written);
    let place = node.written.map_or(within, |written| written.place);
    values::check(name, &settings, place)?;
    let section = maker.section(name, node, settings, place)?;
    let settings = section.settings.clone();
    sections.insert(name.to_owned(), section);
    for (child, node) in &node.children {
        visit(maker, node, &join(name, child), &settings, place, sections)?;
    }
    Ok(())
}

/// A message goes to each section that reads its topic, except those that a group reading the same topic writes anyway.
fn feeds(sections: &BTreeMap<String, Arc<Section>>, targets: &HashMap<String, Target>) -> Vec<Feed> {
    let mut feeds: BTreeMap<&str, Feed> = BTreeMap::new();
    for (name, section) in sections {
        let Some(input) = &section.input else { continue };
        let covered = check::groups_above(sections, name).any(|group| {
            group.input.as_ref().is_some_and(|above| above.topic == input.topic)
                && check::meant(sections, &group.name).iter().any(|snippet| snippet.name == *name)
        });
        let covered_group = !section.is_snippet
            && check::groups_above(sections, name).any(|group| {
                group.recursive.contains(name)
                    && group.input.as_ref().is_some_and(|above| above.topic == input.topic)
            });
        let Some(target) = targets.get(name).filter(|target| !target.snippets.is_empty()) else { continue };
        if !covered && !covered_group {
            let feed = feeds
                .entry(&input.topic)
                .or_insert_with(|| Feed { topic: input.topic.clone(), targets: Vec::new() });
            feed.targets.push((target.clone(), input.clone()));
        }
    }
    feeds.into_values().collect()
}
