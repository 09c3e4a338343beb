//! Keys as bytes whose order is the order of the columns.
//!
//! Each column is written so that no column's bytes begin another value's bytes, so a prefix of whole columns is a
//! prefix of bytes: text ends with a zero byte (which text cannot hold), numbers are big-endian with the sign
//! turned, bytes escape their zeros.

use kit::Timestamp;

use crate::{Error, MAX_KEY_BYTES, Result};

/// The type of a key column, as PostgreSQL and people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Str,
    I64,
    U32,
    Bytes,
    Time,
}

/// A whole key, or its first columns, in order-preserving bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyBytes(pub Vec<u8>);

impl KeyBytes {
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl std::borrow::Borrow<[u8]> for KeyBytes {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// A column's value taken apart, for engines and tools that must know the type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Str(String),
    I64(i64),
    U32(u32),
    Bytes(Vec<u8>),
    Time(Timestamp),
}

/// What can be written as one key column.
pub trait EncodePart {
    const TYPE: ColumnType;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()>;
}

/// What can be read back from one key column.
pub trait DecodePart: Sized {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self>;
}

/// What can be written as key columns: a tuple of parts, borrowed or owned. `()` is the empty prefix.
pub trait Encode {
    const TYPES: &'static [ColumnType];
    fn encode_into(&self, out: &mut Vec<u8>) -> Result<()>;

    fn encode(&self) -> Result<KeyBytes> {
        let mut out = Vec::with_capacity(48);
        self.encode_into(&mut out)?;
        if out.len() > MAX_KEY_BYTES {
            return Err(Error::invalid(format!(
                "a key of {} bytes is over the limit of {MAX_KEY_BYTES}",
                out.len()
            )));
        }
        Ok(KeyBytes(out))
    }
}

/// An owned key of a table.
pub trait Decode: Encode + Sized {
    fn decode(bytes: &[u8]) -> Result<Self>;
}

impl EncodePart for str {
    const TYPE: ColumnType = ColumnType::Str;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.as_bytes().contains(&0) {
            return Err(Error::invalid("a text in a key must not hold the character NUL"));
        }
        out.extend_from_slice(self.as_bytes());
        out.push(0);
        Ok(())
    }
}

impl EncodePart for String {
    const TYPE: ColumnType = ColumnType::Str;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        self.as_str().encode_part(out)
    }
}

impl DecodePart for String {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self> {
        let end = bytes.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text =
            std::str::from_utf8(&bytes[..end]).map_err(|_| Error::corrupt("a key's text is not UTF-8"))?;
        *bytes = &bytes[end + 1..];
        Ok(text.to_owned())
    }
}

impl EncodePart for i64 {
    const TYPE: ColumnType = ColumnType::I64;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&(self ^ i64::MIN).to_be_bytes());
        Ok(())
    }
}

impl DecodePart for i64 {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self> {
        Ok(i64::from_be_bytes(take(bytes)?) ^ i64::MIN)
    }
}

impl EncodePart for u32 {
    const TYPE: ColumnType = ColumnType::U32;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.to_be_bytes());
        Ok(())
    }
}

impl DecodePart for u32 {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self> {
        Ok(u32::from_be_bytes(take(bytes)?))
    }
}

impl EncodePart for Timestamp {
    const TYPE: ColumnType = ColumnType::Time;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        self.0.encode_part(out)
    }
}

impl DecodePart for Timestamp {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self> {
        i64::decode_part(bytes).map(Timestamp)
    }
}

impl EncodePart for [u8] {
    const TYPE: ColumnType = ColumnType::Bytes;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        for byte in self {
            out.push(*byte);
            if *byte == 0 {
                out.push(0xff);
            }
        }
        out.extend_from_slice(&[0, 0]);
        Ok(())
    }
}

impl EncodePart for Vec<u8> {
    const TYPE: ColumnType = ColumnType::Bytes;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        self.as_slice().encode_part(out)
    }
}

impl DecodePart for Vec<u8> {
    fn decode_part(bytes: &mut &[u8]) -> Result<Self> {
        let mut value = Vec::new();
        let mut rest = *bytes;
        loop {
            match rest {
                [0, 0, tail @ ..] => {
                    *bytes = tail;
                    return Ok(value);
                }
                [0, 0xff, tail @ ..] => {
                    value.push(0);
                    rest = tail;
                }
                [0, ..] | [] => return Err(short()),
                [byte, tail @ ..] => {
                    value.push(*byte);
                    rest = tail;
                }
            }
        }
    }
}

impl<T: EncodePart + ?Sized> EncodePart for &T {
    const TYPE: ColumnType = T::TYPE;
    fn encode_part(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).encode_part(out)
    }
}

impl Encode for () {
    const TYPES: &'static [ColumnType] = &[];
    fn encode_into(&self, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

impl<T: Encode> Encode for &T {
    const TYPES: &'static [ColumnType] = T::TYPES;
    fn encode_into(&self, out: &mut Vec<u8>) -> Result<()> {
        (**self).encode_into(out)
    }
}

macro_rules! tuples {
    ($(($($part:ident $index:tt),+))+) => {$(
        impl<$($part: EncodePart),+> Encode for ($($part,)+) {
            const TYPES: &'static [ColumnType] = &[$($part::TYPE),+];
            fn encode_into(&self, out: &mut Vec<u8>) -> Result<()> {
                $(self.$index.encode_part(out)?;)+
                Ok(())
            }
        }
        impl<$($part: EncodePart + DecodePart),+> Decode for ($($part,)+) {
            fn decode(mut bytes: &[u8]) -> Result<Self> {
                let key = ($($part::decode_part(&mut bytes)?,)+);
                if bytes.is_empty() { Ok(key) } else { Err(Error::corrupt("a key is longer than its columns")) }
            }
        }
    )+};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// Takes a whole key, or a prefix of it, apart by its column types; the prefix may hold fewer columns.
pub fn parts(types: &[ColumnType], mut bytes: &[u8]) -> Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(types.len());
    for column in types {
        if bytes.is_empty() {
            break;
        }
        parts.push(match column {
            ColumnType::Str => Part::Str(String::decode_part(&mut bytes)?),
            ColumnType::I64 => Part::I64(i64::decode_part(&mut bytes)?),
            ColumnType::U32 => Part::U32(u32::decode_part(&mut bytes)?),
            ColumnType::Bytes => Part::Bytes(Vec::decode_part(&mut bytes)?),
            ColumnType::Time => Part::Time(Timestamp::decode_part(&mut bytes)?),
        });
    }
    if bytes.is_empty() { Ok(parts) } else { Err(Error::corrupt("a key is longer than its columns")) }
}

/// The bytes of parts: the inverse of [`parts`].
pub fn from_parts(parts: &[Part]) -> Result<KeyBytes> {
    let mut out = Vec::new();
    for part in parts {
        match part {
            Part::Str(text) => text.encode_part(&mut out)?,
            Part::I64(number) => number.encode_part(&mut out)?,
            Part::U32(number) => number.encode_part(&mut out)?,
            Part::Bytes(bytes) => bytes.encode_part(&mut out)?,
            Part::Time(time) => time.encode_part(&mut out)?,
        }
    }
    Ok(KeyBytes(out))
}

/// Whether keys of these types can be a prefix of (or a whole) key of those; usable in constants.
pub(crate) const fn is_prefix(of: &[ColumnType], prefix: &[ColumnType]) -> bool {
    if prefix.len() > of.len() {
        return false;
    }
    let mut index = 0;
    while index < prefix.len() {
        if of[index] as u8 != prefix[index] as u8 {
            return false;
        }
        index += 1;
    }
    true
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (head, tail) = bytes.split_first_chunk::<N>().ok_or_else(short)?;
    *bytes = tail;
    Ok(*head)
}

fn short() -> Error {
    Error::corrupt("a key is shorter than its columns")
}

#[cfg(test)]
mod tests {
    use rand::RngExt as _;

    use super::*;

    fn random_part(column: ColumnType) -> Part {
        let mut rng = rand::rng();
        // Few distinct values and many edge ones, so that neighbours and equal columns are common.
        let ints = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX];
        let words = ["", "a", "ab", "b", "a\u{1}", "я", "яя", "z"];
        let blobs: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0\xff", b"\xff", b"a", b"a\0"];
        match column {
            ColumnType::Str => Part::Str(words[rng.random_range(0..words.len())].to_owned()),
            ColumnType::I64 => Part::I64(ints[rng.random_range(0..ints.len())]),
            ColumnType::U32 => Part::U32([0, 1, 255, 256, u32::MAX][rng.random_range(0..5)]),
            ColumnType::Bytes => Part::Bytes(blobs[rng.random_range(0..blobs.len())].to_vec()),
            ColumnType::Time => Part::Time(Timestamp(ints[rng.random_range(0..ints.len())])),
        }
    }

    #[test]
    fn byte_order_is_tuple_order_and_decoding_inverts_encoding() {
        let all = [ColumnType::Str, ColumnType::I64, ColumnType::U32, ColumnType::Bytes, ColumnType::Time];
        for _ in 0..20_000 {
            let types: Vec<_> = (0..3).map(|_| all[rand::rng().random_range(0..all.len())]).collect();
            let a: Vec<_> = types.iter().map(|column| random_part(*column)).collect();
            let b: Vec<_> = types.iter().map(|column| random_part(*column)).collect();
            let (a_bytes, b_bytes) = (from_parts(&a).unwrap(), from_parts(&b).unwrap());
            assert_eq!(a.cmp(&b), a_bytes.cmp(&b_bytes), "{a:?} and {b:?}");
            assert_eq!(parts(&types, &a_bytes.0).unwrap(), a);
            let shared = a[0] == b[0];
            assert_eq!(shared, b_bytes.0.starts_with(&from_parts(&a[..1]).unwrap().0), "{a:?} and {b:?}");
        }
    }

    #[test]
    fn typed_tuples_agree_with_parts() {
        let key = ("seller".to_owned(), -5_i64, vec![0_u8, 7], Timestamp(9), 3_u32);
        let bytes = key.encode().unwrap();
        assert_eq!(<(String, i64, Vec<u8>, Timestamp, u32)>::decode(&bytes.0).unwrap(), key);
        assert_eq!(("seller", -5_i64, &[0_u8, 7][..], Timestamp(9), 3_u32).encode().unwrap(), bytes);
        assert!(<(String,)>::decode(&bytes.0).is_err());
        assert!(("a\0b",).encode().is_err());
        assert!(("x".repeat(3000).as_str(),).encode().is_err());
    }
}
