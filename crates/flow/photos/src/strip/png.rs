use image::metadata::Orientation;

use super::{Stripped, exif, orientation, part};

const SIGNATURE_BYTES: usize = 8;
/// Of one chunk, beside its content: length, name, check sum.
const FRAME_BYTES: usize = 12;

/// A colour profile goes too: it is packed, and nobody knows how large it is before it was unpacked. Of an animation the
/// picture stays that those see who know no animations.
const PICTURE: [&[u8]; 11] =
    [b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"bKGD", b"pHYs"];

pub(super) fn strip(bytes: &[u8]) -> Option<Stripped> {
    let mut kept = bytes.get(..SIGNATURE_BYTES)?.to_vec();
    let mut upright = Orientation::NoTransforms;
    let mut at = SIGNATURE_BYTES;
    while let Some(&[a, b, c, d]) = bytes.get(at..at + 4) {
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        let chunk = part(bytes, at, FRAME_BYTES + length);
        let name = part(chunk, 4, 4);
        at += chunk.len();
        if name == b"eXIf" && upright == Orientation::NoTransforms {
            upright = orientation(part(chunk, 8, length));
            if upright != Orientation::NoTransforms {
                write_exif(&mut kept, upright);
            }
        } else if PICTURE.contains(&name) {
            kept.extend(chunk);
        }
        if name == b"IEND" {
            break;
        }
    }
    Some(Stripped { bytes: kept, orientation: upright })
}

fn write_exif(kept: &mut Vec<u8>, upright: Orientation) {
    let exif = exif(upright);
    kept.extend((exif.len() as u32).to_be_bytes());
    let begin = kept.len();
    kept.extend(b"eXIf");
    kept.extend(exif);
    let sum = check_sum(&kept[begin..]);
    kept.extend(sum.to_be_bytes());
}

/// CRC-32, bit by bit: it is thirty bytes.
fn check_sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| {
                if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 }
            },
        )
    })
}
