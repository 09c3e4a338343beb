//! What holds for a section and who said so, for people who ask why.

use super::make::USUAL_SERVICE;
use super::options::{Setting, Value};
use super::section::Section;

/// An option with the value that holds.
#[derive(Debug)]
pub struct InForce<'s> {
    pub option: String,
    pub value: String,
    pub by: Decided<'s>,
}

/// Why a value holds.
#[derive(Debug)]
pub enum Decided<'s> {
    /// Nobody said anything else.
    Default,
    Set(&'s Setting),
    /// Another option decides on this one.
    SetAs(&'static str, &'s Setting),
}

impl Section {
    /// Every option that holds for this section, by name. One that lost to another is not among them.
    pub fn in_force(&self) -> Vec<InForce<'_>> {
        let mut found: Vec<_> =
            super::option_names().iter().filter_map(|option| self.one_in_force(option)).collect();
        found.sort_unstable_by(|one, other| one.option.cmp(&other.option));
        found
    }

    fn one_in_force(&self, option: &str) -> Option<InForce<'_>> {
        let set = self.settings.get(option).filter(|setting| match (option, &setting.value) {
            ("Service", Value::Text(text)) => !text.is_empty(),
            // A group that only a name with slashes asks for is never a snippet, whatever it inherits.
            ("ChildrenOnly", Value::Flag(false)) => self.is_snippet,
            _ => true,
        });
        let in_force = |value: String, by| Some(InForce { option: option.to_owned(), value, by });
        let default = |value: String| in_force(value, Decided::Default);
        match (option, set) {
            ("Input", _) => self.input_in_force(),
            ("InputSameAsOutput", _) => None,
            (_, Some(set)) => in_force(set.value.to_string(), Decided::Set(set)),
            ("ChildrenOnly", None) => default("true".to_owned()),
            ("Service", None) => default(format!("{USUAL_SERVICE:?}")),
            ("TtlMinutes" | "UploadOverLBRetryCount", None) => default("0".to_owned()),
            (_, None) => None,
        }
    }

    /// `Input` and `InputSameAsOutput` are two ways to say one thing: the formats that are taken.
    fn input_in_force(&self) -> Option<InForce<'_>> {
        let (by, setting) = self.settings.deciding_input()?;
        let output = self.settings.format("Output");
        let value = match (&setting.value, output) {
            (Value::Flag(_), None) => "as Output".to_owned(),
            (value, None) => value.to_string(),
            (_, Some(output)) => Value::Formats(self.settings.inputs(output)).to_string(),
        };
        let by = if by == "Input" { Decided::Set(setting) } else { Decided::SetAs(by, setting) };
        Some(InForce { option: "Input".to_owned(), value, by })
    }
}
