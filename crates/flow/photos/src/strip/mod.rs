//! What a file says beyond its pixels is taken away before anything is decoded and before anybody may see it.
//!
//! EXIF tells where a photo was taken, with which camera and sometimes with a smaller copy of what was cut off; XMP, IPTC,
//! comments and whatever hangs behind the end tell more. And a decoder that unpacks a profile takes a gigabyte for a
//! megabyte. So a file is walked by the lengths of its parts, and only the parts that a picture is made of are kept. Which
//! way is up is a part of the picture, so it stays, alone in an EXIF of 26 bytes.

mod gif;
mod jpeg;
mod png;
mod webp;

use image::metadata::Orientation;

use crate::bundle::Type;

/// A picture without words about it.
pub(crate) struct Stripped {
    pub(crate) bytes: Vec<u8>,
    pub(crate) orientation: Orientation,
}

/// A file whose parts do not lead to its end keeps what there is: its decoder says what is missing. None: it is no file of
/// its type, or a part of it has more than `max_pixels`.
pub(crate) fn strip(bytes: &[u8], content: Type, max_pixels: u64) -> Option<Stripped> {
    match content {
        Type::Jpeg => jpeg::strip(bytes),
        Type::Png => png::strip(bytes),
        Type::Gif => gif::strip(bytes),
        Type::WebP => webp::strip(bytes, max_pixels),
    }
}

/// The orientation in an EXIF, which may have the name before it that JPEG writes.
fn orientation(exif: &[u8]) -> Orientation {
    let exif = exif.strip_prefix(EXIF_NAME).unwrap_or(exif);
    Orientation::from_exif_chunk(exif).unwrap_or(Orientation::NoTransforms)
}

const EXIF_NAME: &[u8] = b"Exif\0\0";

/// An EXIF that says only which way is up.
fn exif(orientation: Orientation) -> [u8; 26] {
    let mut exif = *b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\0\0\0\0\0\0\0\0";
    exif[18] = orientation.to_exif();
    exif
}

/// So many bytes from a place on, or those that there are.
fn part(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    let from = at.min(bytes.len());
    &bytes[from..at.saturating_add(length).clamp(from, bytes.len())]
}
