use prost::Message as _;
use wire::united::Offer;

use super::fields::{Field, Malformed, fields, put_message};
use super::{Node, Subscriptions};

impl Subscriptions {
    /// `after`, where a value that is the same as before keeps the word on who gave it and when. So a value's time is that of its
    /// last change, and a feed that says the same every day changes nothing.
    pub fn carry(&self, before: &Offer, after: &Offer) -> Offer {
        let bytes = carry(&self.root, &before.encode_to_vec(), &after.encode_to_vec());
        let bytes = bytes.expect("an encoded part is well formed");
        Offer::decode(bytes.as_slice()).expect("values of two parts are a part")
    }
}

fn carry(node: &Node, before: &[u8], after: &[u8]) -> Result<Vec<u8>, Malformed> {
    if before == after {
        return Ok(after.to_vec());
    }
    let (earlier, later) = (fields(before)?, fields(after)?);
    if let Some(meta) = node.meta
        && values(&earlier, meta).eq(values(&later, meta))
    {
        return Ok(before.to_vec());
    }
    let mut out = Vec::with_capacity(after.len());
    for field in &later {
        let marked = node.field(field.number).filter(|marked| !marked.repeated);
        let inner = marked.and_then(|marked| marked.node.as_ref());
        let same = earlier.iter().find(|other| other.number == field.number);
        match (inner, same.and_then(|same| same.body), field.body) {
            (Some(inner), Some(before), Some(after)) => {
                put_message(field.number, &carry(inner, before, after)?, &mut out);
            }
            _ => out.extend_from_slice(field.raw),
        }
    }
    Ok(out)
}

fn values<'a>(fields: &'a [Field<'a>], meta: u32) -> impl Iterator<Item = &'a Field<'a>> {
    fields.iter().filter(move |field| field.number != meta)
}
