//! Which value survives, as people write it: the setting `gold.rules`.
//!
//! ```json
//! {"default": {"choose": "newest"},
//!  "groups": {"logistics": {"choose": "max"}},
//!  "parameters": {"barcode": {"choose": "union"}, "name": {"preferred_shop": 12}}}
//! ```
//!
//! The most specific rule holds alone: a parameter's own, else that of its group, else the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::parameters::{PARAMETERS, Parameter};
use crate::ssku::SourceType;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    pub default: Rule,
    pub groups: BTreeMap<String, Rule>,
    pub parameters: BTreeMap<String, Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Among shops, which come before the basic part, the first source that has a value is the only one asked; a source that is
    /// not named is asked last.
    pub sources: Vec<Source>,
    /// Among those of that source, the shop whose value wins if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_shop: Option<u32>,
    pub choose: Choice,
}

impl Default for Rule {
    fn default() -> Self {
        Self { sources: vec![Source::Supplier, Source::Dbs], preferred_shop: None, choose: Choice::Newest }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Source {
    Supplier,
    Dbs,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Self::Supplier => SourceType::Supplier.name(),
            Self::Dbs => SourceType::Dbs.name(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Newest,
    Oldest,
    MostCommon,
    Longest,
    Max,
    Min,
    Union,
}

impl Rules {
    /// The rule of a parameter.
    pub fn of(&self, parameter: u32) -> &Rule {
        let Some(parameter) = Parameter::by_id(parameter) else { return &self.default };
        let own = self.parameters.get(parameter.name);
        own.or_else(|| self.groups.get(parameter.group)).unwrap_or(&self.default)
    }

    /// What is wrong with the rules: each time where, and why.
    pub fn problems(&self) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        for group in self.groups.keys() {
            if !PARAMETERS.iter().any(|parameter| parameter.group == group) {
                problems.push((format!("groups.{group}"), "there is no such group".to_owned()));
            }
        }
        for name in self.parameters.keys() {
            if Parameter::by_name(name).is_none() {
                problems.push((format!("parameters.{name}"), "there is no such parameter".to_owned()));
            }
        }
        for parameter in PARAMETERS {
            if let Err(problem) = self.of(parameter.id).check(parameter) {
                problems.push((self.place_of(parameter), problem));
            }
        }
        problems
    }

    fn place_of(&self, parameter: &Parameter) -> String {
        if self.parameters.contains_key(parameter.name) {
            format!("parameters.{}", parameter.name)
        } else if self.groups.contains_key(parameter.group) {
            format!("groups.{}", parameter.group)
        } else {
            "default".to_owned()
        }
    }
}

impl Rule {
    fn check(&self, parameter: &Parameter) -> Result<(), String> {
        let kind = parameter.kind;
        let fits = match self.choose {
            Choice::Newest | Choice::Oldest | Choice::MostCommon => true,
            Choice::Longest => kind.is_text(),
            Choice::Max | Choice::Min => kind.is_measure(),
            Choice::Union => kind.is_list(),
        };
        let twice = self.sources.iter().enumerate().any(|(at, source)| self.sources[..at].contains(source));
        if twice {
            return Err("a source is named twice".to_owned());
        }
        if self.preferred_shop == Some(0) {
            return Err("no shop has the number 0".to_owned());
        }
        if fits { Ok(()) } else { Err(format!("{} has no such order: {kind:?}", parameter.name)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> Result<Rules, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn the_most_specific_rule_holds() {
        let rules = rules(
            r#"{"default": {"choose": "oldest"}, "groups": {"logistics": {"choose": "max"}},
                "parameters": {"weight": {"choose": "min", "sources": ["DBS", "SUPPLIER"]}}}"#,
        )
        .unwrap();
        let choice = |name| rules.of(Parameter::by_name(name).unwrap().id).choose;
        assert_eq!(choice("weight"), Choice::Min);
        assert_eq!(choice("dimensions"), Choice::Max);
        assert_eq!(choice("name"), Choice::Oldest);
        assert_eq!(rules.of(9_999).choose, Choice::Oldest);
        assert!(rules.problems().is_empty());
        assert!(Rules::default().problems().is_empty());
    }

    #[test]
    fn rules_that_cannot_hold_are_refused_with_their_place() {
        for (json, place) in [
            (r#"{"parameters": {"weigth": {}}}"#, "parameters.weigth"),
            (r#"{"groups": {"x": {}}}"#, "groups.x"),
            (r#"{"parameters": {"name": {"choose": "max"}}}"#, "parameters.name"),
            (r#"{"parameters": {"weight": {"choose": "longest"}}}"#, "parameters.weight"),
            (r#"{"parameters": {"name": {"choose": "union"}}}"#, "parameters.name"),
            (r#"{"groups": {"naming": {"choose": "min"}}}"#, "groups.naming"),
            (r#"{"default": {"choose": "max"}}"#, "default"),
            (r#"{"parameters": {"name": {"preferred_shop": 0}}}"#, "parameters.name"),
            (r#"{"default": {"sources": ["DBS", "DBS"]}}"#, "default"),
        ] {
            let problems = rules(json).unwrap().problems();
            assert!(problems.iter().any(|(found, _)| found == place), "{json}: {problems:?}");
        }
        for unreadable in
            [r#"{"defualt": {}}"#, r#"{"default": {"choose": "best"}}"#, r#"{"default": {"shop": 1}}"#]
        {
            assert!(rules(unreadable).is_err(), "{unreadable}");
        }
    }
}
