//! An encoded message as a row of fields, without knowing what they mean.

/// One field where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub number: u32,
    /// With its tag.
    pub raw: &'a [u8],
    /// What a text, a message or a packed list consists of; `None` for a number.
    pub body: Option<&'a [u8]>,
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not a protobuf message")]
pub struct Malformed;

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

/// The fields of a message in their order. Groups are not part of any contract here, and malformed.
pub fn fields(bytes: &[u8]) -> Result<Vec<Field<'_>>, Malformed> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let start = rest;
        let tag = varint(&mut rest)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        if number == 0 {
            return Err(Malformed);
        }
        let body = match tag & 7 {
            VARINT => {
                varint(&mut rest)?;
                None
            }
            FIXED_64 => {
                take(&mut rest, 8)?;
                None
            }
            FIXED_32 => {
                take(&mut rest, 4)?;
                None
            }
            DELIMITED => {
                let length = usize::try_from(varint(&mut rest)?).map_err(|_| Malformed)?;
                Some(take(&mut rest, length)?)
            }
            _ => return Err(Malformed),
        };
        found.push(Field { number, raw: &start[..start.len() - rest.len()], body });
    }
    Ok(found)
}

/// Writes a message as a field of another one.
pub(super) fn put_message(number: u32, body: &[u8], out: &mut Vec<u8>) {
    prost::encoding::encode_varint((u64::from(number) << 3) | DELIMITED, out);
    prost::encoding::encode_varint(body.len() as u64, out);
    out.extend_from_slice(body);
}

/// The number of a field that is a varint.
pub fn number_of(field: &Field<'_>) -> Option<u64> {
    let mut rest = field.raw;
    let tag = varint(&mut rest).ok()?;
    if tag & 7 == VARINT { varint(&mut rest).ok() } else { None }
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    prost::encoding::decode_varint(bytes).map_err(|_| Malformed)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (head, tail) = bytes.split_at_checked(length).ok_or(Malformed)?;
    *bytes = tail;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use wire::united::{OfferIdentifiers, StringListValue};

    use super::*;

    #[test]
    fn fields_are_found_where_they_stand() {
        let ids = OfferIdentifiers { business_id: Some(300), offer_id: Some("é".into()), shop_id: None };
        let bytes = ids.encode_to_vec();
        let found = fields(&bytes).unwrap();
        assert_eq!(found.iter().map(|field| field.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(number_of(&found[0]), Some(300));
        assert_eq!(number_of(&found[1]), None);
        assert_eq!(found[1].body, Some("é".as_bytes()));
        assert_eq!(found.iter().map(|field| field.raw.len()).sum::<usize>(), bytes.len());
    }

    #[test]
    fn whatever_is_cut_off_or_wrong_is_malformed() {
        let list = StringListValue { value: vec!["a".repeat(200)], meta: None };
        let bytes = list.encode_to_vec();
        for end in 1..bytes.len() {
            assert_eq!(fields(&bytes[..end]), Err(Malformed), "{end}");
        }
        for wrong in [&[0x00, 0x01][..], &[0x0b], &[0x0f], &[0xff; 11], &[0x12, 0xff, 0xff, 0xff, 0xff, 0x7f]]
        {
            assert_eq!(fields(wrong), Err(Malformed), "{wrong:?}");
        }
        assert_eq!(fields(&[]), Ok(Vec::new()));
    }
}
