//! A photo's file: the original and its sizes behind one head that says where each lies.
//!
//! ```text
//! DVORPIC1 | length of the head, 4 bytes little-endian | head (protobuf) | small sizes … | original
//! ```
//!
//! Sizes that would be equal (of an image smaller than they are) share their bytes. Readers find a part with one short
//! read of the head.

use prost::Message as _;

const MAGIC: &[u8; 8] = b"DVORPIC1";
/// The head is read with the first bytes of a file, so it may not be longer.
pub const HEAD_BYTES: u64 = 1_024;
/// The part that is the original.
pub const ORIGINAL: u32 = 0;

#[derive(Clone, PartialEq, prost::Message)]
pub struct Head {
    #[prost(message, repeated, tag = "1")]
    pub parts: Vec<Part>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Part {
    /// The long side asked for; 0: the original.
    #[prost(uint32, tag = "1")]
    pub size: u32,
    #[prost(enumeration = "Type", tag = "2")]
    pub content: i32,
    #[prost(uint32, tag = "3")]
    pub width: u32,
    #[prost(uint32, tag = "4")]
    pub height: u32,
    /// From the end of the head.
    #[prost(uint64, tag = "5")]
    pub offset: u64,
    #[prost(uint64, tag = "6")]
    pub length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Type {
    Jpeg = 0,
    Png = 1,
    Gif = 2,
    WebP = 3,
}

impl Type {
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// Writes a file of parts, of which each brings its bytes or has those of the one before it.
pub fn write(parts: Vec<(Part, Option<Vec<u8>>)>) -> Vec<u8> {
    let (mut head, mut body) = (Head::default(), Vec::new());
    let mut last = (0, 0);
    for (mut part, bytes) in parts {
        if let Some(bytes) = bytes {
            last = (body.len() as u64, bytes.len() as u64);
            body.extend(bytes);
        }
        (part.offset, part.length) = last;
        head.parts.push(part);
    }
    let head = head.encode_to_vec();
    [MAGIC.as_slice(), &(head.len() as u32).to_le_bytes(), &head, &body].concat()
}

/// The part of this size and where it lies in the file, from the file's first bytes. `None`: not a photo, or no such part.
pub fn find(first: &[u8], size: u32) -> Option<(Part, std::ops::Range<u64>)> {
    let rest = first.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let head = Head::decode(rest.get(..length)?).ok()?;
    let part = head.parts.into_iter().find(|part| part.size == size)?;
    let begin = (MAGIC.len() + 4 + length) as u64;
    let from = begin.checked_add(part.offset)?;
    let to = from.checked_add(part.length)?;
    Some((part, from..to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(size: u32) -> Part {
        Part { size, content: Type::Png.into(), width: 3, height: 2, ..Part::default() }
    }

    #[test]
    fn parts_are_found_where_they_were_put() {
        let file = write(vec![
            (part(100), Some(b"small".to_vec())),
            (part(400), None),
            (part(ORIGINAL), Some(b"original".to_vec())),
        ]);
        let read = |size| {
            let (_, range) = find(&file, size)?;
            Some(&file[range.start as usize..range.end as usize])
        };
        assert_eq!(read(100), Some(b"small".as_slice()));
        assert_eq!(read(400), Some(b"small".as_slice()));
        assert_eq!(read(ORIGINAL), Some(b"original".as_slice()));
        assert_eq!(read(800), None);
    }

    /// Stored bytes are for ever.
    #[test]
    fn the_format_is_fixed() {
        let file = write(vec![(part(100), Some(b"x".to_vec()))]);
        assert_eq!(file, b"DVORPIC1\x0c\0\0\0\x0a\x0a\x08\x64\x10\x01\x18\x03\x20\x02\x30\x01x"[..].to_vec());
    }

    #[test]
    fn other_files_have_no_parts() {
        for bytes in [
            &b""[..],
            b"DVORPIC",
            b"DVORPIC1",
            b"DVORPIC1\xff\xff\xff\xff",
            b"<html>",
            b"DVORPIC1\x02\0\0\0\xff\xff",
        ] {
            assert!(find(bytes, 100).is_none(), "{bytes:?}");
        }
    }
}
