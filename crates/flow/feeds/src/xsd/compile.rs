//! From the text of a schema to tables.

use std::collections::HashMap;

use super::simple::Base;
use super::{Attribute, Content, Element, Particle, Schema, Simple, Type};
use crate::formats::tree::{self, Node};

/// The schema asks for what is not built.
#[derive(Debug, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub struct Unsupported(String);

fn refuse<T>(what: impl Into<String>) -> Result<T, Unsupported> {
    Err(Unsupported(what.into()))
}

struct Compiler<'a> {
    complex: HashMap<&'a str, &'a Node>,
    simple: HashMap<&'a str, &'a Node>,
    done: HashMap<&'a str, usize>,
    schema: Schema,
}

pub fn compile(text: &str) -> Result<Schema, Unsupported> {
    let root = tree::whole(text).map_err(Unsupported)?;
    if root.name != "schema" {
        return refuse("the root is not xs:schema");
    }
    let mut compiler = Compiler {
        complex: HashMap::new(),
        simple: HashMap::new(),
        done: HashMap::new(),
        schema: Schema { elements: Vec::new(), types: Vec::new(), root: 0 },
    };
    let mut elements = Vec::new();
    for node in &root.children {
        match (node.name.as_str(), node.attribute("name")) {
            ("complexType", Some(name)) => drop(compiler.complex.insert(name, node)),
            ("simpleType", Some(name)) => drop(compiler.simple.insert(name, node)),
            ("element", Some(_)) => elements.push(node),
            ("annotation", _) => {}
            (other, _) => return refuse(format!("xs:{other} at the top")),
        }
    }
    let [element] = elements.as_slice() else { return refuse("there must be one root element") };
    compiler.schema.root = compiler.element(element)?;
    Ok(compiler.schema)
}

impl<'a> Compiler<'a> {
    fn element(&mut self, node: &'a Node) -> Result<usize, Unsupported> {
        only(node, &["name", "type", "minOccurs", "maxOccurs"])?;
        let (Some(name), Some(kind)) = (node.attribute("name"), node.attribute("type")) else {
            return refuse("an element needs a name and a named type");
        };
        if !node.children.is_empty() {
            return refuse(format!("the element {name} has a type of its own"));
        }
        let kind = self.kind(kind)?;
        self.schema.elements.push(Element { name: name.to_owned(), kind });
        Ok(self.schema.elements.len() - 1)
    }

    /// The type of this name, compiled once.
    fn kind(&mut self, name: &'a str) -> Result<usize, Unsupported> {
        if let Some(done) = self.done.get(name) {
            return Ok(*done);
        }
        let compiled = match self.complex.get(name) {
            Some(node) => self.complex_type(node)?,
            None => Type { attributes: Vec::new(), content: Content::Text(self.simple_type(name)?) },
        };
        self.schema.types.push(compiled);
        let place = self.schema.types.len() - 1;
        self.done.insert(name, place);
        Ok(place)
    }

    fn complex_type(&mut self, node: &'a Node) -> Result<Type, Unsupported> {
        only(node, &["name"])?;
        let mut compiled = Type { attributes: Vec::new(), content: Content::Empty };
        for child in &node.children {
            match child.name.as_str() {
                "all" => compiled.content = Content::All(self.particles(child)?),
                "sequence" => compiled.content = Content::Sequence(self.particles(child)?),
                "attribute" => compiled.attributes.push(self.attribute(child)?),
                "simpleContent" => {
                    let [extension] = child.children.as_slice() else { return refuse("simpleContent") };
                    let Some(base) = extension.attribute("base").filter(|_| extension.name == "extension")
                    else {
                        return refuse("simpleContent without an extension");
                    };
                    compiled.content = Content::Text(self.simple_type(base)?);
                    for attribute in &extension.children {
                        compiled.attributes.push(self.attribute(attribute)?);
                    }
                }
                "annotation" => {}
                other => return refuse(format!("xs:{other} in a complex type")),
            }
        }
        Ok(compiled)
    }

    fn particles(&mut self, node: &'a Node) -> Result<Vec<Particle>, Unsupported> {
        only(node, &[])?;
        let mut particles = Vec::new();
        for child in &node.children {
            if child.name != "element" {
                return refuse(format!("xs:{} in xs:{}", child.name, node.name));
            }
            let number = |name: &str| match child.attribute(name) {
                None => Ok(1),
                Some("unbounded") => Ok(u32::MAX),
                Some(text) => text.parse().or_else(|_| refuse(format!("{name}=\"{text}\""))),
            };
            let (min, max) = (number("minOccurs")?, number("maxOccurs")?);
            if node.name == "all" && max > 1 {
                return refuse("maxOccurs above 1 in xs:all");
            }
            particles.push(Particle { element: self.element(child)?, min, max });
        }
        if particles.len() > 64 {
            return refuse("more than 64 elements in one content");
        }
        Ok(particles)
    }

    fn attribute(&mut self, node: &'a Node) -> Result<Attribute, Unsupported> {
        only(node, &["name", "type", "use"])?;
        let (Some(name), Some(kind)) = (node.attribute("name"), node.attribute("type")) else {
            return refuse("an attribute needs a name and a named type");
        };
        let required = match node.attribute("use") {
            None | Some("optional") => false,
            Some("required") => true,
            Some(other) => return refuse(format!("use=\"{other}\"")),
        };
        Ok(Attribute { name: name.to_owned(), required, simple: self.simple_type(kind)? })
    }

    fn simple_type(&self, name: &str) -> Result<Simple, Unsupported> {
        if let Some(built_in) = name.strip_prefix("xs:") {
            return match built_in {
                "string" => Ok(Simple::of(Base::String)),
                "token" => Ok(Simple::of(Base::Token)),
                "decimal" => Ok(Simple::of(Base::Decimal)),
                "dateTime" => Ok(Simple::of(Base::DateTime)),
                other => refuse(format!("the type xs:{other}")),
            };
        }
        let Some(node) = self.simple.get(name) else { return refuse(format!("there is no type {name}")) };
        let [restriction] = node.children.as_slice() else { return refuse(format!("the type {name}")) };
        let Some(base) = restriction.attribute("base").filter(|_| restriction.name == "restriction") else {
            return refuse(format!("the type {name} is no restriction"));
        };
        let mut simple = self.simple_type(base)?;
        for facet in &restriction.children {
            narrow(&mut simple, facet)?;
        }
        Ok(simple)
    }
}

fn narrow(simple: &mut Simple, facet: &Node) -> Result<(), Unsupported> {
    only(facet, &["value"])?;
    let value = facet.attribute("value").unwrap_or_default();
    let length = || value.parse().or_else(|_| refuse(format!("{}=\"{value}\"", facet.name)));
    let number = || value.parse().map(Some).or_else(|_| refuse(format!("{}=\"{value}\"", facet.name)));
    match facet.name.as_str() {
        "length" => (simple.min_length, simple.max_length) = (length()?, length()?),
        "minLength" => simple.min_length = length()?,
        "maxLength" => simple.max_length = length()?,
        "enumeration" => simple.options.push(value.to_owned()),
        "minInclusive" => simple.min = number()?,
        "maxInclusive" => simple.max = number()?,
        other => return refuse(format!("the facet xs:{other}")),
    }
    Ok(())
}

/// Refuses attributes that would mean something.
fn only(node: &Node, known: &[&str]) -> Result<(), Unsupported> {
    match node.attributes.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => refuse(format!("{name} at xs:{}", node.name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_compiles() {
        let schema = compile(crate::SCHEMA).unwrap();
        assert_eq!(schema.elements[schema.root].name, "feed");
        let offers = schema.child(schema.root, "offers").unwrap();
        let offer = schema.child(offers, "offer").unwrap();
        assert!(schema.child(offer, "dimensions").is_some());
        assert!(schema.child(offer, "nothing").is_none());
    }

    #[test]
    fn what_is_not_built_is_refused() {
        let check = |inside: &str, expected: &str| {
            let text = format!(
                "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"a\" type=\"A\"/>{inside}</xs:schema>"
            );
            let error = compile(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{inside}: {error}");
        };
        check("", "there is no type A");
        check("<xs:import namespace=\"x\"/>", "xs:import");
        check("<xs:complexType name=\"A\"><xs:choice/></xs:complexType>", "xs:choice");
        check("<xs:complexType name=\"A\" mixed=\"true\"/>", "mixed");
        check(
            "<xs:simpleType name=\"A\"><xs:restriction base=\"xs:token\"><xs:pattern value=\"x\"/></xs:restriction></xs:simpleType>",
            "xs:pattern",
        );
        check(
            "<xs:simpleType name=\"A\"><xs:restriction base=\"xs:integer\"/></xs:simpleType>",
            "xs:integer",
        );
    }
}
