use image::metadata::Orientation;

use super::{EXIF_NAME, Stripped, exif, orientation, part};

const END: u8 = 0xd9;
const SCAN: u8 = 0xda;
const APP1: u8 = 0xe1;

pub(super) fn strip(bytes: &[u8]) -> Option<Stripped> {
    let mut kept = bytes.get(..2)?.to_vec();
    let mut upright = Orientation::NoTransforms;
    let mut at = 2;
    // Bytes between segments belong to none.
    while let Some(marker) = next_marker(bytes, &mut at) {
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            kept.extend([0xff, marker]);
            continue;
        }
        if marker == END {
            kept.extend([0xff, END]);
            break;
        }
        let Some(&[high, low]) = bytes.get(at..at + 2) else { break };
        let segment = part(bytes, at, usize::from(u16::from_be_bytes([high, low])).max(2));
        at += segment.len();
        let content = &segment[2..];
        if marker == APP1 && content.starts_with(EXIF_NAME) && upright == Orientation::NoTransforms {
            upright = orientation(content);
            if upright != Orientation::NoTransforms {
                write_exif(&mut kept, upright);
            }
        } else if is_picture(marker, content) {
            kept.extend([0xff, marker]);
            kept.extend(segment);
        }
        if marker == SCAN {
            let scan = part(bytes, at, scan_length(&bytes[at..]));
            kept.extend(scan);
            at += scan.len();
        }
    }
    Some(Stripped { bytes: kept, orientation: upright })
}

/// The next marker, with `at` behind it.
fn next_marker(bytes: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += bytes.get(*at..)?.iter().position(|byte| *byte == 0xff)? + 1;
        match *bytes.get(*at)? {
            // Filling, and an escaped byte that belongs to no scan.
            0xff => {}
            0 => *at += 1,
            marker => {
                *at += 1;
                return Some(marker);
            }
        }
    }
}

/// Frames, tables, scans; of the applications' segments those that say how colours are meant.
fn is_picture(marker: u8, content: &[u8]) -> bool {
    match marker {
        0xc0..=0xcf | 0xda..=0xdf => true,
        0xe0 => content.starts_with(b"JFIF\0"),
        0xe2 => content.starts_with(b"ICC_PROFILE\0"),
        0xee => content.starts_with(b"Adobe"),
        _ => false,
    }
}

/// Up to the next marker that is neither an escaped byte nor a restart.
fn scan_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == 0xff) {
        at += found;
        match bytes.get(at + 1) {
            Some(0 | 0xd0..=0xd7) => at += 2,
            Some(0xff) => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

fn write_exif(kept: &mut Vec<u8>, upright: Orientation) {
    let exif = exif(upright);
    let length = (2 + EXIF_NAME.len() + exif.len()) as u16;
    kept.extend([0xff, APP1]);
    kept.extend(length.to_be_bytes());
    kept.extend(EXIF_NAME);
    kept.extend(exif);
}
