use image::metadata::Orientation;

use super::{Stripped, part};

const HEAD_BYTES: usize = 13;
const EXTENSION: u8 = 0x21;
const FRAME: u8 = 0x2c;
const FRAME_BYTES: usize = 10;
const TIMING: u8 = 0xf9;
const APPLICATION: u8 = 0xff;

/// How often an animation repeats.
const LOOPS: [&[u8]; 2] = [b"NETSCAPE2.0", b"ANIMEXTS1.0"];

pub(super) fn strip(bytes: &[u8]) -> Option<Stripped> {
    let head = bytes.get(..HEAD_BYTES)?;
    let mut at = HEAD_BYTES + colours(head[10]);
    let mut kept = part(bytes, 0, at).to_vec();
    while let Some(&block) = bytes.get(at) {
        let length = match block {
            FRAME => {
                let table = bytes.get(at + FRAME_BYTES - 1).map_or(0, |flags| colours(*flags));
                let data = at + FRAME_BYTES + table + 1;
                data - at + pieces_length(bytes, data)
            }
            EXTENSION => 2 + pieces_length(bytes, at + 2),
            // The end, and whatever hangs behind it.
            _ => 1,
        };
        let whole = part(bytes, at, length);
        at += length;
        if block != EXTENSION || is_picture(whole) {
            kept.extend(whole);
        }
        if !matches!(block, FRAME | EXTENSION) {
            break;
        }
    }
    Some(Stripped { bytes: kept, orientation: Orientation::NoTransforms })
}

/// Bytes of the table of colours that these flags announce.
fn colours(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

fn is_picture(extension: &[u8]) -> bool {
    match extension.get(1) {
        Some(&TIMING) => true,
        Some(&APPLICATION) => LOOPS.contains(&part(extension, 3, 11)),
        _ => false,
    }
}

/// Bytes of a row of pieces, each behind its length, with the empty one at the end.
fn pieces_length(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(&length) = bytes.get(at) {
        at += 1 + usize::from(length);
        if length == 0 {
            break;
        }
    }
    at - from
}
