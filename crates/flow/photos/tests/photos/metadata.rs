//! What a file says beyond its pixels: it costs no memory, and nobody hears it.

use flate2::{Compress, Compression, FlushCompress};
use image::ImageFormat;
use photos::Settings;
use photos::bundle::{self, ORIGINAL};
use photos::picture::{SIZES, make};

use crate::images::{crc, drawing, encoded, jpeg};

/// More than the decoders and the sizes of a small picture take.
const MORE_BYTES: u64 = 64 << 20;
const SECRET: &[u8] = b"55.7512N 37.6184E";

/// A profile or a text of this many mebibytes, packed into a thousandth of them.
fn packed(mebibytes: u32) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let mut piece = Vec::with_capacity(1 << 16);
    // A piece that needs nothing of what was before it, so that it can stand there again and again.
    Compress::new(Compression::best(), false).compress_vec(&zeros, &mut piece, FlushCompress::Full).unwrap();
    let mut whole = vec![0x78, 0x9c];
    for _ in 0..mebibytes {
        whole.extend(&piece);
    }
    whole.extend([1, 0, 0, 0xff, 0xff]);
    let sum = (u64::from(mebibytes) << 20) % 65_521;
    whole.extend(((sum as u32) << 16 | 1).to_be_bytes());
    whole
}

fn png_chunk(name: [u8; 4], content: &[u8]) -> Vec<u8> {
    let named = [name.as_slice(), content].concat();
    [&(content.len() as u32).to_be_bytes(), named.as_slice(), &crc(&named).to_be_bytes()].concat()
}

/// The PNG with a chunk behind its head.
fn with_png_chunk(png: &[u8], name: [u8; 4], content: &[u8]) -> Vec<u8> {
    [&png[..33], &png_chunk(name, content), &png[33..]].concat()
}

fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn a_packed_profile_is_not_unpacked() {
    let png = encoded(drawing(64, 48, 1), ImageFormat::Png);
    let bomb = packed(512);
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    for (name, head) in [
        (b"iCCP", b"name\0\0".as_slice()),
        (b"zTXt", b"Raw profile type iptc\0\0"),
        (b"iTXt", b"XML:com.adobe.xmp\0\x01\0\0\0"),
    ] {
        let hostile = with_png_chunk(&png, *name, &[head, &bomb].concat());
        let before = peak_bytes();
        let picture = make(hostile, &Settings::default()).unwrap();
        let more = peak_bytes().saturating_sub(before);
        assert!(more < MORE_BYTES, "{name:?} takes {} MiB", more >> 20);
        assert_eq!((picture.width, picture.height), (64, 48));
    }
}

/// An EXIF that says where, and that the right side is up.
fn exif() -> Vec<u8> {
    let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    exif.extend(SECRET);
    exif
}

fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    [&[0xff, marker], ((content.len() + 2) as u16).to_be_bytes().as_slice(), content].concat()
}

fn talkative_jpeg() -> Vec<u8> {
    let plain = jpeg(120, 80, 5);
    let xmp = [b"http://ns.adobe.com/xap/1.0/\0", SECRET].concat();
    [
        &plain[..2],
        &segment(0xe1, &[b"Exif\0\0", exif().as_slice()].concat()),
        &segment(0xe1, &xmp),
        &segment(0xed, &[b"Photoshop 3.0\0", SECRET].concat()),
        &segment(0xfe, SECRET),
        &plain[2..],
        SECRET,
    ]
    .concat()
}

fn talkative_png() -> Vec<u8> {
    let plain = encoded(drawing(120, 80, 5), ImageFormat::Png);
    let with = with_png_chunk(&plain, *b"eXIf", &exif());
    let with = with_png_chunk(&with, *b"tEXt", &[b"Comment\0", SECRET].concat());
    [&with, SECRET].concat()
}

fn talkative_webp() -> Vec<u8> {
    let plain = encoded(drawing(120, 80, 5), ImageFormat::WebP);
    let chunk = |name: [u8; 4], content: &[u8]| {
        let padding = vec![0; content.len() % 2];
        [name.as_slice(), &(content.len() as u32).to_le_bytes(), content, &padding].concat()
    };
    let chunks = [
        chunk(*b"VP8X", &[0x0c, 0, 0, 0, 119, 0, 0, 79, 0, 0]),
        plain[12..].to_vec(),
        chunk(*b"EXIF", &exif()),
        chunk(*b"XMP ", SECRET),
        chunk(*b"note", SECRET),
    ]
    .concat();
    [b"RIFF".as_slice(), &(chunks.len() as u32 + 4).to_le_bytes(), b"WEBP", &chunks].concat()
}

fn talkative_gif() -> Vec<u8> {
    let plain = encoded(drawing(120, 80, 5), ImageFormat::Gif);
    let head = 13 + if plain[10] & 0x80 == 0 { 0 } else { 3 << ((plain[10] & 7) + 1) };
    let piece = |content: &[u8]| [&[content.len() as u8], content].concat();
    let comment = [b"\x21\xfe".as_slice(), &piece(SECRET), &[0]].concat();
    let application = [b"\x21\xff\x0bXMP DataXMP".as_slice(), &piece(SECRET), &[0]].concat();
    [&plain[..head], &comment, &application, &plain[head..], SECRET].concat()
}

#[test]
fn no_part_of_a_photo_tells_where_it_was_taken() {
    let tells = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|part| part == SECRET);
    for (name, bytes, turned) in [
        ("JPEG", talkative_jpeg(), true),
        ("PNG", talkative_png(), true),
        ("WebP", talkative_webp(), true),
        ("GIF", talkative_gif(), false),
    ] {
        assert!(tells(&bytes), "{name}");
        let picture =
            make(bytes, &Settings::default()).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        // Which way is up was a part of what went, and still counts.
        let expected = if turned { (80, 120) } else { (120, 80) };
        assert_eq!((picture.width, picture.height), expected, "{name}");
        assert!(!tells(&picture.file), "{name}");
        let (_, range) = bundle::find(&picture.file[..picture.file.len().min(1_024)], ORIGINAL).unwrap();
        let original = picture.file[range.start as usize..range.end as usize].to_vec();
        // What is left is a whole picture, turned as before.
        let again = make(original, &Settings::default()).unwrap();
        assert_eq!((again.width, again.height), expected, "{name}");
        for size in SIZES {
            let (_, range) = bundle::find(&picture.file[..picture.file.len().min(1_024)], size).unwrap();
            let part = &picture.file[range.start as usize..range.end as usize];
            assert!(!part.windows(4).any(|name| name == b"Exif"), "{name} {size}");
        }
    }
}

/// A frame is decoded at its own size before anybody compares that with the canvas.
#[test]
fn a_webp_frame_larger_than_its_canvas_is_refused_unseen() {
    let frame = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0xff, 0x3f, 0, 0];
    let chunks = [
        b"VP8X\x0a\0\0\0\0\0\0\0\x3f\0\0\x3f\0\0".as_slice(),
        b"VP8 ",
        &(frame.len() as u32).to_le_bytes(),
        &frame,
    ]
    .concat();
    let hostile = [b"RIFF".as_slice(), &(chunks.len() as u32 + 4).to_le_bytes(), b"WEBP", &chunks].concat();
    let refused = make(hostile, &Settings::default()).unwrap_err();
    assert_eq!(
        (refused.code, refused.parameters[0].as_str()),
        ("photo_damaged", "its parts do not fit together")
    );
}

#[test]
fn a_file_of_broken_parts_is_refused_without_a_panic() {
    for whole in [talkative_jpeg(), talkative_png(), talkative_webp(), talkative_gif()] {
        // Also with a step of one over the parts of the head.
        for end in 3..120 {
            let _ = make(whole[..end].to_vec(), &Settings::default());
        }
        for end in (3..whole.len()).step_by(whole.len() / 40) {
            let _ = make(whole[..end].to_vec(), &Settings::default());
        }
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            let _ = make(broken, &Settings::default());
        }
    }
}
