//! A small piece of XML as a tree: a record of the formats that have no schema, and the schema itself.

use std::borrow::Cow;

use super::events::{self, Attributes, Broken, Rigour, Visitor};
use crate::limits::Limits;

#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Without its prefix.
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Node>,
}

impl Node {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The trimmed text of a child; empty if there is none.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| child.text.trim())
    }
}

/// More are not worth reading.
const MAX_GUESSES: usize = 20;

/// What was understood though it is wrong: code and the place's text.
pub(crate) type Guesses = Vec<(&'static str, String)>;

pub(crate) fn read(text: &str, rigour: Rigour, limits: &Limits) -> Result<(Node, Guesses), Broken> {
    let mut builder = Builder { stack: vec![Node::default()], guesses: Vec::new() };
    events::read(text, rigour, limits, &mut builder)?;
    let root = builder.stack.pop().and_then(|mut outer| outer.children.pop()).unwrap_or_default();
    Ok((root, builder.guesses))
}

/// A whole file of ours.
pub(crate) fn whole(text: &str) -> Result<Node, String> {
    let read = read(text, Rigour::Strict, &Limits::default());
    read.map(|(node, _)| node).map_err(|broken| broken.what)
}

struct Builder {
    stack: Vec<Node>,
    guesses: Guesses,
}

impl<'a> Visitor<'a> for Builder {
    fn start(&mut self, name: &'a str, attributes: &Attributes<'a>, _at: usize, _end: usize) {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        self.stack.push(Node {
            name: local(name).to_owned(),
            attributes: attributes.collect(),
            ..Node::default()
        });
    }

    fn text(&mut self, text: Cow<'a, str>) {
        if let Some(node) = self.stack.last_mut() {
            node.text.push_str(&text);
        }
    }

    fn end(&mut self) {
        if self.stack.len() > 1
            && let Some(node) = self.stack.pop()
            && let Some(parent) = self.stack.last_mut()
        {
            parent.children.push(node);
        }
    }

    fn guessed(&mut self, code: &'static str, value: &str) {
        if self.guesses.len() < MAX_GUESSES
            && !self.guesses.iter().any(|(other, text)| *other == code && text == value)
        {
            self.guesses.push((code, value.to_owned()));
        }
    }
}

/// `g:price` is read as `price`: many feeds leave the prefix out.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}
