use prost::Message as _;
use wire::united::Offer;

use super::fields::{Malformed, fields, put_message};
use super::{Keep, Node, Subscriptions};

impl Subscriptions {
    /// The part with nothing but what is kept.
    pub fn cut(&self, part: &Offer, keep: Keep) -> Offer {
        let bytes = self.cut_bytes(&part.encode_to_vec(), keep).expect("an encoded part is well formed");
        Offer::decode(bytes.as_slice()).expect("fewer fields of a part are a part")
    }

    pub fn cut_bytes(&self, part: &[u8], keep: Keep) -> Result<Vec<u8>, Malformed> {
        let mut out = Vec::with_capacity(part.len());
        cut_into(&self.root, part, keep, &mut out)?;
        Ok(out)
    }
}

pub(super) fn cut_into(node: &Node, bytes: &[u8], keep: Keep, out: &mut Vec<u8>) -> Result<(), Malformed> {
    for field in fields(bytes)? {
        let Some(marked) = node.field(field.number).filter(|marked| marked.reaches(keep)) else { continue };
        let (Some(node), Some(body)) = (&marked.node, field.body) else {
            out.extend_from_slice(field.raw);
            continue;
        };
        let mut inner = Vec::with_capacity(body.len());
        cut_into(node, body, keep, &mut inner)?;
        // That a marked message is there says something, even when it is empty.
        if !inner.is_empty() || keep.keeps(marked.subscription) {
            put_message(field.number, &inner, out);
        }
    }
    Ok(())
}
