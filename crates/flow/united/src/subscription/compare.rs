use prost::Message as _;
use wire::united::Offer;

use super::cut::cut_into;
use super::fields::{Field, Malformed, fields};
use super::{Keep, Marked, Node, Subject, Subscription, Subscriptions};

/// What differs between two states of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The triggers that changed, each once.
    pub triggers: Vec<Subject>,
    /// Something else that is shipped changed.
    pub others: bool,
}

impl Difference {
    /// Whether it causes a shipment.
    pub fn ships(&self) -> bool {
        !self.triggers.is_empty()
    }

    /// Whether the part's version must grow.
    pub fn counts(&self) -> bool {
        self.ships() || self.others
    }

    fn note(&mut self, marked: &Marked) {
        match (marked.subscription, marked.subject) {
            (Subscription::Trigger, Some(subject)) if !self.triggers.contains(&subject) => {
                self.triggers.push(subject);
            }
            (Subscription::Shipment, _) => self.others = true,
            _ => {}
        }
    }
}

impl Subscriptions {
    pub fn compare(&self, before: &Offer, after: &Offer) -> Difference {
        self.compare_bytes(&before.encode_to_vec(), &after.encode_to_vec())
            .expect("an encoded part is well formed")
    }

    pub fn compare_bytes(&self, before: &[u8], after: &[u8]) -> Result<Difference, Malformed> {
        let mut difference = Difference::default();
        if before != after {
            compare(&self.root, before, after, &mut difference)?;
        }
        Ok(difference)
    }
}

fn compare(node: &Node, before: &[u8], after: &[u8], out: &mut Difference) -> Result<(), Malformed> {
    let (before, after) = (fields(before)?, fields(after)?);
    for marked in node.fields.iter().filter(|marked| marked.ships) {
        let (before, after) = (numbered(&before, marked.number), numbered(&after, marked.number));
        if before == after {
            continue;
        }
        match &marked.node {
            None => out.note(marked),
            Some(node) if marked.repeated => compare_lists(node, marked, &before, &after, out)?,
            Some(node) => {
                if before.is_empty() != after.is_empty() {
                    out.note(marked);
                }
                compare(node, body(&before), body(&after), out)?;
            }
        }
    }
    Ok(())
}

fn numbered<'a>(fields: &[Field<'a>], number: u32) -> Vec<Field<'a>> {
    fields.iter().filter(|field| field.number == number).copied().collect()
}

/// Of a repeated message it is not said which one changed, only whether what is kept of all of them did.
fn compare_lists(
    node: &Node,
    marked: &Marked,
    before: &[Field<'_>],
    after: &[Field<'_>],
    out: &mut Difference,
) -> Result<(), Malformed> {
    let cut = |fields: &[Field<'_>], keep| -> Result<Vec<Vec<u8>>, Malformed> {
        let cut_one = |field: &Field<'_>| {
            let mut inner = Vec::new();
            cut_into(node, field.body.unwrap_or_default(), keep, &mut inner)?;
            Ok(inner)
        };
        fields.iter().map(cut_one).collect()
    };
    if marked.triggers && cut(before, Keep::Triggers)? != cut(after, Keep::Triggers)? {
        match first_trigger(node, marked) {
            Some(subject) if !out.triggers.contains(&subject) => out.triggers.push(subject),
            _ => {}
        }
    } else if cut(before, Keep::Shipped)? != cut(after, Keep::Shipped)? {
        out.others = true;
    }
    Ok(())
}

/// The field in whose name a list changes.
fn first_trigger(node: &Node, marked: &Marked) -> Option<Subject> {
    if marked.subscription == Subscription::Trigger {
        return marked.subject;
    }
    node.fields.iter().find_map(|field| match &field.node {
        _ if field.subscription == Subscription::Trigger => field.subject,
        Some(node) if field.triggers => first_trigger(node, field),
        _ => None,
    })
}

/// A message that comes twice is the last one, as the fields that we write come once.
fn body<'a>(fields: &[Field<'a>]) -> &'a [u8] {
    fields.last().and_then(|field| field.body).unwrap_or_default()
}
