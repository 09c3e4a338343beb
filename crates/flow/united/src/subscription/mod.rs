//! Who is told of which field: the marks of the schema, compiled once into a tree of field numbers.
//!
//! A part of an offer is compared and cut as bytes: the tree says for each number what becomes of it, so a field that is
//! added to the schema with its mark needs no line of code here. A mark holds for everything beneath its field until a
//! field further down has its own: a weight is a trigger, the time at which it was given only goes along.

mod carry;
mod compare;
mod cut;
pub mod fields;

use prost_reflect::{DescriptorPool, ExtensionDescriptor, FieldDescriptor, Kind, MessageDescriptor, Value};

pub use compare::Difference;

const OPTION: &str = "dvor.united.v1.mdm_subscriber";
const OFFER: &str = "dvor.united.v1.Offer";
const META: &str = "dvor.united.v1.UpdateMeta";
/// Gold is written back here; a mark beneath it would ship for ever.
const UNTOUCHABLE: &str = "content.master_data";
/// Messages inside of messages; a schema that describes itself has no end.
const MAX_DEPTH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    None,
    Trigger,
    Shipment,
}

/// What a cut or a comparison looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Everything that is shipped.
    Shipped,
    /// Only what causes shipments.
    Triggers,
}

impl Keep {
    fn keeps(self, subscription: Subscription) -> bool {
        match self {
            Self::Shipped => subscription != Subscription::None,
            Self::Triggers => subscription == Subscription::Trigger,
        }
    }
}

/// The marks of an offer's part.
#[derive(Debug)]
pub struct Subscriptions {
    root: Node,
    subjects: Vec<(String, Subscription)>,
}

/// A marked field, as counters know it.
pub type Subject = usize;

#[derive(Debug, Default)]
struct Node {
    /// By number.
    fields: Vec<Marked>,
    /// The number of the field that says who gave the value, if this message is such a value.
    meta: Option<u32>,
}

#[derive(Debug)]
struct Marked {
    number: u32,
    subscription: Subscription,
    subject: Option<Subject>,
    repeated: bool,
    /// Of a message.
    node: Option<Node>,
    ships: bool,
    triggers: bool,
}

impl Marked {
    /// Whether it or something beneath it is kept.
    fn reaches(&self, keep: Keep) -> bool {
        match keep {
            Keep::Shipped => self.ships,
            Keep::Triggers => self.triggers,
        }
    }
}

impl Node {
    fn field(&self, number: u32) -> Option<&Marked> {
        self.fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| &self.fields[at])
    }
}

impl Subscriptions {
    /// Of the schema that this program was built with.
    pub fn shipped() -> Self {
        let pool = DescriptorPool::decode(wire::DESCRIPTORS).expect("the compiled schema can be read");
        Self::of(&pool).expect("a test holds that the schema's marks are sound")
    }

    pub fn of(pool: &DescriptorPool) -> Result<Self, String> {
        let option =
            pool.get_extension_by_name(OPTION).ok_or_else(|| format!("the schema has no option {OPTION}"))?;
        let offer =
            pool.get_message_by_name(OFFER).ok_or_else(|| format!("the schema has no message {OFFER}"))?;
        let mut making = Making { option, subjects: Vec::new() };
        let root =
            making.node(&offer, &Above { path: "", subscription: Subscription::None, subject: None }, 0)?;
        Ok(Self { root, subjects: making.subjects })
    }

    /// The path of a marked field, such as `content.partner.original.weight`.
    pub fn path(&self, subject: Subject) -> &str {
        &self.subjects[subject].0
    }

    /// The paths of all marked fields.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.marks().map(|(path, _)| path)
    }

    /// The same with their marks.
    pub fn marks(&self) -> impl Iterator<Item = (&str, Subscription)> {
        self.subjects.iter().map(|(path, mark)| (path.as_str(), *mark))
    }
}

struct Making {
    option: ExtensionDescriptor,
    subjects: Vec<(String, Subscription)>,
}

/// What a message inherits.
struct Above<'a> {
    path: &'a str,
    subscription: Subscription,
    subject: Option<Subject>,
}

impl Making {
    fn node(&mut self, message: &MessageDescriptor, above: &Above<'_>, depth: usize) -> Result<Node, String> {
        if depth > MAX_DEPTH {
            return Err(format!("{}: messages deeper than {MAX_DEPTH}", above.path));
        }
        let mut node = Node::default();
        for field in message.fields() {
            if matches!(field.kind(), Kind::Message(kind) if kind.full_name() == META) {
                node.meta = Some(field.number());
            }
            node.fields.push(self.field(&field, above, depth)?);
        }
        node.fields.sort_by_key(|field| field.number);
        Ok(node)
    }

    fn field(&mut self, field: &FieldDescriptor, above: &Above<'_>, depth: usize) -> Result<Marked, String> {
        let dot = if above.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{}", above.path, field.name());
        let (mut subscription, mut subject) = (above.subscription, above.subject);
        if let Some(own) = self.mark(field)? {
            subscription = own;
            subject = (own != Subscription::None).then_some(self.subjects.len());
            if own != Subscription::None {
                self.subjects.push((path.clone(), own));
            }
        }
        let node = match field.kind() {
            Kind::Message(message) => {
                let above = Above { path: &path, subscription, subject };
                Some(self.node(&message, &above, depth + 1)?)
            }
            _ => None,
        };
        let beneath = |keep| node.iter().flat_map(|node| &node.fields).any(|field| field.reaches(keep));
        let ships = Keep::Shipped.keeps(subscription) || beneath(Keep::Shipped);
        let triggers = Keep::Triggers.keeps(subscription) || beneath(Keep::Triggers);
        if path == UNTOUCHABLE && ships {
            return Err(format!("{path} may not be subscribed to, and nothing beneath it"));
        }
        let repeated = field.is_list() || field.is_map();
        Ok(Marked { number: field.number(), subscription, subject, repeated, node, ships, triggers })
    }

    fn mark(&self, field: &FieldDescriptor) -> Result<Option<Subscription>, String> {
        let options = field.options();
        if !options.has_extension(&self.option) {
            return Ok(None);
        }
        match *options.get_extension(&self.option) {
            Value::EnumNumber(0) => Ok(Some(Subscription::None)),
            Value::EnumNumber(1) => Ok(Some(Subscription::Trigger)),
            Value::EnumNumber(2) => Ok(Some(Subscription::Shipment)),
            _ => Err(format!("{} has a mark that is not known", field.full_name())),
        }
    }
}

#[cfg(test)]
mod tests;
