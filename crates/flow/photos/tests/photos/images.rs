//! Images made here, good and bad.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, Rgb, RgbImage};

/// A picture of stripes and blocks, different for each seed.
pub(crate) fn drawing(width: u32, height: u32, seed: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let field = (x * 8 / width).wrapping_mul(31).wrapping_add(y * 8 / height).wrapping_mul(seed | 1);
        let hash = field.wrapping_mul(2_654_435_761) >> 8;
        Rgb([(hash & 0xff) as u8, (hash >> 4 & 0xff) as u8, (hash >> 8 & 0xff) as u8])
    })
}

pub(crate) fn encoded(image: RgbImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    DynamicImage::from(image).write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

pub(crate) fn jpeg(width: u32, height: u32, seed: u32) -> Vec<u8> {
    encoded(drawing(width, height, seed), ImageFormat::Jpeg)
}

/// A PNG whose head promises this many pixels.
pub(crate) fn png_bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = encoded(drawing(16, 16, 1), ImageFormat::Png);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// A GIF with the largest canvas there is, and a small frame.
pub(crate) fn gif_bomb() -> Vec<u8> {
    let mut bytes = encoded(drawing(16, 16, 1), ImageFormat::Gif);
    bytes[6..10].fill(0xff);
    bytes
}

pub(crate) fn animated_gif() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
    for colour in [[255, 0, 0, 255], [0, 0, 255, 255]] {
        let frame = image::RgbaImage::from_pixel(40, 20, image::Rgba(colour));
        encoder.encode_frame(image::Frame::new(frame)).unwrap();
    }
    drop(encoder);
    bytes
}

pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
