//! A part of XML Schema: as much as `feed.xsd` needs, compiled to tables ([`compile`]) that are walked over events
//! ([`walk::Walker`]). What is not supported is refused when the schema is compiled, so that a file is never
//! accepted by a rule that was not looked at.

pub mod compile;
pub mod simple;
pub mod walk;

pub use compile::{Unsupported, compile};
pub use simple::Simple;
pub use walk::{Violation, Walker};

#[derive(Debug)]
pub struct Schema {
    pub(crate) elements: Vec<Element>,
    pub(crate) types: Vec<Type>,
    pub(crate) root: usize,
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) kind: usize,
}

#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) required: bool,
    pub(crate) simple: Simple,
}

#[derive(Debug)]
pub(crate) enum Content {
    Empty,
    Text(Simple),
    /// Each at most once, in any order.
    All(Vec<Particle>),
    /// In this order.
    Sequence(Vec<Particle>),
}

#[derive(Debug)]
pub(crate) struct Particle {
    pub(crate) element: usize,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Schema {
    /// The element of this name in a content of the element.
    pub(crate) fn child(&self, parent: usize, name: &str) -> Option<usize> {
        let (Content::All(particles) | Content::Sequence(particles)) =
            &self.types[self.elements[parent].kind].content
        else {
            return None;
        };
        particles.iter().map(|particle| particle.element).find(|element| self.elements[*element].name == name)
    }

    pub(crate) fn content(&self, element: usize) -> &Content {
        &self.types[self.elements[element].kind].content
    }

    pub(crate) fn attributes(&self, element: usize) -> &[Attribute] {
        &self.types[self.elements[element].kind].attributes
    }
}
