//! The tables, walked over the events of a file.

use super::simple::Refused;
use super::{Content, Schema};

/// A rule of the schema that the file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub code: &'static str,
    /// The element or attribute.
    pub field: String,
    pub value: String,
    pub parameters: Vec<String>,
    /// Where the element begins, as an offset of the text that is walked.
    pub at: usize,
}

/// Where a walk is: an element that is open, and which of its children were there.
struct Frame {
    element: usize,
    at: usize,
    /// Of a sequence: the particle, and how often it was there.
    place: usize,
    count: u32,
    /// Of `all`: a bit for each child.
    seen: u64,
}

pub struct Walker<'a> {
    schema: &'a Schema,
    stack: Vec<Frame>,
    /// Elements that are open inside of one that is not allowed: nothing in it is looked at.
    ignored: usize,
    pub violations: Vec<Violation>,
}

/// More are not worth reading.
const MOST_VIOLATIONS: usize = 20;

impl<'a> Walker<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, stack: Vec::with_capacity(8), ignored: 0, violations: Vec::new() }
    }

    /// Begins at an element that is already known to be allowed.
    pub(crate) fn enter(&mut self, element: usize, at: usize) {
        self.stack.push(Frame { element, at, place: 0, count: 0, seen: 0 });
    }

    /// A start tag. Some element: it is allowed, and its attributes are to be checked.
    pub(crate) fn start(&mut self, name: &str, at: usize) -> Option<usize> {
        if self.ignored > 0 {
            self.ignored += 1;
            return None;
        }
        let Some(parent) = self.stack.last_mut() else {
            let root = self.schema.root;
            if self.schema.elements[root].name == name {
                self.enter(root, at);
                return Some(root);
            }
            self.refuse("xml_unexpected_element", name, "", vec![], at);
            self.ignored = 1;
            return None;
        };
        match advance(self.schema, parent, name) {
            Ok(element) => {
                self.enter(element, at);
                Some(element)
            }
            Err(code) => {
                let parent = self.schema.elements[parent.element].name.clone();
                self.refuse(code, name, "", vec![parent], at);
                self.ignored = 1;
                None
            }
        }
    }

    /// The end of the innermost element. `text`: what stood in it outside of its children. Gives the element and its text without
    /// white space that does not count, when both are right.
    pub(crate) fn end<'t>(&mut self, text: &'t str) -> Option<(usize, std::borrow::Cow<'t, str>)> {
        if self.ignored > 0 {
            self.ignored -= 1;
            return None;
        }
        let frame = self.stack.pop()?;
        let name = &self.schema.elements[frame.element].name;
        match self.schema.content(frame.element) {
            Content::Text(simple) => match simple.check(text) {
                Ok(text) => return Some((frame.element, text)),
                Err(refused) => self.refuse_value(name, text, refused, frame.at),
            },
            content => {
                if !text.trim_ascii().is_empty() || (matches!(content, Content::Empty) && !text.is_empty()) {
                    self.refuse("xml_unexpected_text", name, text.trim(), vec![], frame.at);
                } else if let Some(missing) = missing(self.schema, content, &frame) {
                    let missing = self.schema.elements[missing].name.clone();
                    self.refuse("xml_missing_element", &missing, "", vec![name.clone()], frame.at);
                }
            }
        }
        Some((frame.element, std::borrow::Cow::Borrowed("")))
    }

    /// Text in the innermost element, where that may hold elements only.
    pub(crate) fn stray_text(&mut self, text: &str) {
        let Some(frame) = self.stack.last().filter(|_| self.ignored == 0) else { return };
        let (name, at) = (self.schema.elements[frame.element].name.clone(), frame.at);
        self.refuse("xml_unexpected_text", &name, text.trim(), vec![], at);
    }

    /// Checks one attribute; its number and its text.
    pub(crate) fn attribute<'t>(
        &mut self,
        element: usize,
        name: &str,
        value: &'t str,
        at: usize,
    ) -> Option<(usize, std::borrow::Cow<'t, str>)> {
        // Attributes of the schema instance and namespace declarations are for tools.
        if name.starts_with("xsi:") || name == "xmlns" || name.starts_with("xmlns:") {
            return None;
        }
        let attributes = self.schema.attributes(element);
        let Some(place) = attributes.iter().position(|attribute| attribute.name == name) else {
            let parent = self.schema.elements[element].name.clone();
            self.refuse("xml_unexpected_attribute", name, value, vec![parent], at);
            return None;
        };
        match attributes[place].simple.check(value) {
            Ok(value) => Some((place, value)),
            Err(refused) => {
                let field = format!("{}@{name}", self.schema.elements[element].name);
                self.refuse_value(&field, value, refused, at);
                Some((place, std::borrow::Cow::Borrowed(value)))
            }
        }
    }

    /// After all attributes: those that had to be there. `present` has a bit for each that was.
    pub(crate) fn attributes_end(&mut self, element: usize, present: u64, at: usize) {
        for (place, attribute) in self.schema.attributes(element).iter().enumerate() {
            if attribute.required && present & (1 << place) == 0 {
                let parent = self.schema.elements[element].name.clone();
                let name = attribute.name.clone();
                self.refuse("xml_missing_attribute", &name, "", vec![parent], at);
            }
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.stack.len() + self.ignored
    }

    /// The innermost element holds text, so that what is between its tags counts.
    pub(crate) fn current(&self) -> Option<usize> {
        self.stack.last().filter(|_| self.ignored == 0).map(|frame| frame.element)
    }

    fn refuse_value(&mut self, field: &str, value: &str, refused: Refused, at: usize) {
        self.refuse(refused.code, field, value, refused.parameters, at);
    }

    fn refuse(&mut self, code: &'static str, field: &str, value: &str, parameters: Vec<String>, at: usize) {
        if self.violations.len() < MOST_VIOLATIONS {
            let (field, value) = (field.to_owned(), crate::issue::shortened(value));
            self.violations.push(Violation { code, field, value, parameters, at });
        }
    }
}

/// Whether a child may come now.
fn advance(schema: &Schema, parent: &mut Frame, name: &str) -> Result<usize, &'static str> {
    match schema.content(parent.element) {
        Content::All(particles) => {
            let named = |place: &usize| schema.elements[particles[*place].element].name == name;
            // Sellers write the children of every offer in the same order: the one after the last is tried first.
            let next = (parent.place..particles.len()).chain(0..parent.place).find(named);
            let Some(place) = next else { return Err("xml_unexpected_element") };
            if parent.seen & (1 << place) != 0 {
                return Err("xml_repeated_element");
            }
            parent.seen |= 1 << place;
            parent.place = place + 1;
            Ok(particles[place].element)
        }
        Content::Sequence(particles) => {
            while let Some(particle) = particles.get(parent.place) {
                let same = schema.elements[particle.element].name == name;
                if same && parent.count < particle.max {
                    parent.count += 1;
                    return Ok(particle.element);
                }
                if parent.count < particle.min {
                    break;
                }
                parent.place += 1;
                parent.count = 0;
            }
            Err("xml_unexpected_element")
        }
        Content::Empty | Content::Text(_) => Err("xml_unexpected_element"),
    }
}

fn missing(schema: &Schema, content: &Content, frame: &Frame) -> Option<usize> {
    let _ = schema;
    match content {
        Content::All(particles) => {
            let absent = |place: &usize| particles[*place].min > 0 && frame.seen & (1 << place) == 0;
            (0..particles.len()).find(absent).map(|place| particles[place].element)
        }
        Content::Sequence(particles) => {
            let here = particles.get(frame.place).filter(|particle| frame.count < particle.min);
            let later = particles.iter().skip(frame.place + 1).find(|particle| particle.min > 0);
            here.or(later).map(|particle| particle.element)
        }
        Content::Empty | Content::Text(_) => None,
    }
}
