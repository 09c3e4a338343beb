use prost::bytes::Buf as _;
use prost::encoding::{self, DecodeContext, WireType};
use prost_reflect::{Kind, MessageDescriptor};
use topics::Record;

use super::Extractor;
use crate::Format;
use crate::convertors::described;
use crate::registry::Making;

/// A field of a protobuf message, or of a message in it. It is found without reading the others: every message of a
/// topic passes here, and most of what is in it does not matter.
pub(crate) struct ProtobufField {
    message: MessageDescriptor,
    name: String,
    /// The numbers of the fields on the way to the value.
    path: Vec<u32>,
    kind: Kind,
}

impl ProtobufField {
    pub(crate) fn load(making: &Making<'_>) -> Result<Self, String> {
        let message =
            described(making, making.input_message)?.ok_or("it needs DescriptorSet and InputMessage")?;
        let missing = || format!("{} has no field {}", message.full_name(), making.parameter);
        let (mut path, mut within, mut kind) = (Vec::new(), Some(message.clone()), None);
        for name in making.parameter.split('.') {
            let field = within.as_ref().and_then(|message| message.get_field_by_name(name));
            let field = field.ok_or_else(missing)?;
            let single = !field.is_list() && !field.is_map();
            within = field.kind().as_message().filter(|_| single).cloned();
            path.push(field.number());
            kind = single.then(|| field.kind());
        }
        let name = making.parameter.to_owned();
        let kind = kind.filter(is_text_or_number).ok_or_else(|| {
            format!("{name} of {} is neither a text nor a whole number", message.full_name())
        })?;
        Ok(Self { message, name, path, kind })
    }
}

impl Extractor for ProtobufField {
    fn extract(&self, record: &Record) -> Result<String, String> {
        let broken = |error: String| format!("this is not a message {}: {error}", self.message.full_name());
        let found = last(&record.payload, &self.path).map_err(broken)?;
        match (found, is_text(&self.kind)) {
            (None, true) => Ok(String::new()),
            (None, false) => Ok("0".to_owned()),
            (Some(FieldValue::Bytes(bytes)), true) => {
                String::from_utf8(bytes.to_vec()).map_err(|_| broken(format!("{} is not UTF-8", self.name)))
            }
            (Some(FieldValue::Number(number)), false) => Ok(shown(number, &self.kind)),
            _ => Err(broken(format!("{} has another type", self.name))),
        }
    }

    /// Messages that are kept as mere bytes may be protobuf all the same.
    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Pb | Format::Binary)
    }
}

fn is_text(kind: &Kind) -> bool {
    matches!(kind, Kind::String)
}

fn is_text_or_number(kind: &Kind) -> bool {
    !matches!(kind, Kind::Double | Kind::Float | Kind::Bool | Kind::Bytes | Kind::Message(_) | Kind::Enum(_))
}

/// A whole number as the kind means its bits.
fn shown(bits: u64, kind: &Kind) -> String {
    let unzigzag = |bits: u64| (bits >> 1).cast_signed() ^ -(bits & 1).cast_signed();
    match kind {
        Kind::Int32 | Kind::Sfixed32 => (bits as u32).cast_signed().to_string(),
        Kind::Uint32 | Kind::Fixed32 => (bits as u32).to_string(),
        Kind::Int64 | Kind::Sfixed64 => bits.cast_signed().to_string(),
        Kind::Sint32 | Kind::Sint64 => unzigzag(bits).to_string(),
        _ => bits.to_string(),
    }
}

enum FieldValue<'a> {
    Bytes(&'a [u8]),
    Number(u64),
}

/// The last value at the path: a later one replaces an earlier one, also within messages that are given in parts.
fn last<'a>(mut bytes: &'a [u8], path: &[u32]) -> Result<Option<FieldValue<'a>>, String> {
    let said = |error: prost::DecodeError| error.to_string();
    let Some((wanted, rest)) = path.split_first() else { return Ok(None) };
    let mut found = None;
    while bytes.has_remaining() {
        let (number, wire) = encoding::decode_key(&mut bytes).map_err(said)?;
        if number != *wanted {
            encoding::skip_field(wire, number, &mut bytes, DecodeContext::default()).map_err(said)?;
            continue;
        }
        let value = match wire {
            WireType::Varint => FieldValue::Number(encoding::decode_varint(&mut bytes).map_err(said)?),
            WireType::LengthDelimited => FieldValue::Bytes(delimited(&mut bytes)?),
            WireType::ThirtyTwoBit => FieldValue::Number(u64::from(u32::from_le_bytes(fixed(&mut bytes)?))),
            WireType::SixtyFourBit => FieldValue::Number(u64::from_le_bytes(fixed(&mut bytes)?)),
            WireType::StartGroup | WireType::EndGroup => {
                encoding::skip_field(wire, number, &mut bytes, DecodeContext::default()).map_err(said)?;
                continue;
            }
        };
        match value {
            FieldValue::Bytes(inside) if !rest.is_empty() => found = last(inside, rest)?.or(found),
            value => found = Some(value),
        }
    }
    Ok(found)
}

fn delimited<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], String> {
    let length = encoding::decode_varint(bytes).map_err(|error| error.to_string())?;
    let inside = usize::try_from(length).ok().and_then(|length| bytes.split_off(..length));
    inside.ok_or_else(ends_early)
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
    let value = bytes.split_off(..N).ok_or_else(ends_early)?;
    value.try_into().map_err(|_| ends_early())
}

fn ends_early() -> String {
    "it ends within a value".to_owned()
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use wire::model::Offer;
    use wire::offers::OfferChange;

    use super::*;

    fn text(bytes: &[u8], path: &[u32], kind: &Kind) -> String {
        match last(bytes, path).unwrap() {
            Some(FieldValue::Bytes(bytes)) => String::from_utf8(bytes.to_vec()).unwrap(),
            Some(FieldValue::Number(bits)) => shown(bits, kind),
            None => "none".to_owned(),
        }
    }

    /// The numbers of fields, as the description has them.
    fn numbers(path: &[&str]) -> Vec<u32> {
        let pool = prost_reflect::DescriptorPool::decode(wire::DESCRIPTORS).unwrap();
        let mut within = pool.get_message_by_name("dvor.offers.v1.OfferChange");
        let mut numbers = Vec::new();
        for name in path {
            let field = within.as_ref().unwrap().get_field_by_name(name).unwrap();
            numbers.push(field.number());
            within = field.kind().as_message().cloned();
        }
        numbers
    }

    #[test]
    fn the_last_value_counts_wherever_it_is() {
        let change = |version, seller: &str| OfferChange {
            version,
            offer: Some(Offer { seller_id: seller.to_owned(), ..Offer::default() }),
            ..OfferChange::default()
        };
        let (version, seller) = (numbers(&["version"]), numbers(&["offer", "seller_id"]));
        let one = change(7, "s1").encode_to_vec();
        assert_eq!(text(&one, &version, &Kind::Int64), "7");
        assert_eq!(text(&one, &seller, &Kind::String), "s1");
        assert_eq!(text(&change(-7, "").encode_to_vec(), &version, &Kind::Int64), "-7");
        assert_eq!(text(&change(0, "").encode_to_vec(), &seller, &Kind::String), "none");
        let two = [one.clone(), change(8, "s2").encode_to_vec(), change(0, "").encode_to_vec()].concat();
        assert_eq!(OfferChange::decode(&two[..]).unwrap().version, 8);
        assert_eq!(text(&two, &version, &Kind::Int64), "8");
        assert_eq!(text(&two, &seller, &Kind::String), "s2");
        assert!(last(&one[..one.len() - 1], &version).is_err(), "what is cut off is no message");
    }

    #[test]
    fn numbers_are_what_their_kind_says() {
        let cases = [
            (u64::MAX, Kind::Int32, "-1"),
            (u64::MAX, Kind::Int64, "-1"),
            (u64::MAX, Kind::Uint64, "18446744073709551615"),
            (7, Kind::Uint32, "7"),
            (3, Kind::Sint32, "-2"),
            (4, Kind::Sint64, "2"),
        ];
        for (bits, kind, expected) in cases {
            assert_eq!(shown(bits, &kind), expected, "{kind:?}");
        }
    }
}
