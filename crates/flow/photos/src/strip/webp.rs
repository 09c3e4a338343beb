use image::metadata::Orientation;

use super::{Stripped, exif, orientation, part};

const HEAD_BYTES: usize = 12;
/// What stands before the chunks of an animation's frame.
const FRAME_BYTES: usize = 16;
const EXIF_FLAG: u8 = 0x08;
const XMP_FLAG: u8 = 0x04;

pub(super) fn strip(bytes: &[u8], max_pixels: u64) -> Option<Stripped> {
    let mut kept = bytes.get(..HEAD_BYTES)?.to_vec();
    let mut upright = Orientation::NoTransforms;
    let mut flags_at = None;
    for (name, content) in chunks(&bytes[HEAD_BYTES..]) {
        match name {
            b"VP8X" => {
                flags_at = Some(kept.len() + 8);
                write(&mut kept, name, content);
            }
            b"EXIF" => upright = orientation(content),
            b"ANMF" => {
                let mut frame = part(content, 0, FRAME_BYTES).to_vec();
                for (name, content) in chunks(part(content, FRAME_BYTES, usize::MAX)) {
                    if matches!(name, b"VP8 " | b"VP8L" | b"ALPH") {
                        fits(name, content, max_pixels)?;
                        write(&mut frame, name, content);
                    }
                }
                write(&mut kept, name, &frame);
            }
            b"VP8 " | b"VP8L" | b"ALPH" | b"ANIM" | b"ICCP" => {
                fits(name, content, max_pixels)?;
                write(&mut kept, name, content);
            }
            _ => {}
        }
    }
    // Only a file with flags can say that it has an EXIF.
    if let Some(flags) = flags_at.and_then(|at| kept.get_mut(at)) {
        *flags &= !(EXIF_FLAG | XMP_FLAG);
        if upright != Orientation::NoTransforms {
            *flags |= EXIF_FLAG;
            write(&mut kept, b"EXIF", &exif(upright));
        }
    }
    let length = (kept.len() - 8) as u32;
    kept[4..8].copy_from_slice(&length.to_le_bytes());
    Some(Stripped { bytes: kept, orientation: upright })
}

/// Names and contents, one after another; the last may be cut off.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (name, length) = bytes.get(at..at + 8)?.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let content = part(bytes, at + 8, length);
        at += 8 + length.next_multiple_of(2);
        Some((name, content))
    })
}

fn write(kept: &mut Vec<u8>, name: &[u8], content: &[u8]) {
    kept.extend(name);
    kept.extend((content.len() as u32).to_le_bytes());
    kept.extend(content);
    if content.len() % 2 == 1 {
        kept.push(0);
    }
}

/// A frame is decoded at its own size before anybody compares that with the size of the whole.
fn fits(name: &[u8], content: &[u8], max_pixels: u64) -> Option<()> {
    let (width, height) = match (name, content) {
        (b"VP8 ", [_, _, _, _, _, _, a, b, c, d, ..]) => {
            (u16::from_le_bytes([*a, *b]) & 0x3fff, u16::from_le_bytes([*c, *d]) & 0x3fff)
        }
        (b"VP8L", [_, a, b, c, d, ..]) => {
            let bits = u32::from_le_bytes([*a, *b, *c, *d]);
            ((bits & 0x3fff) as u16 + 1, (bits >> 14 & 0x3fff) as u16 + 1)
        }
        _ => return Some(()),
    };
    (u64::from(width) * u64::from(height) <= max_pixels).then_some(())
}
