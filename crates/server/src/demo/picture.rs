use anyhow::Result;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder as _};

const WIDTH: u32 = 640;
const HEIGHT: u32 = 480;

/// A picture that only this name has: discs on a ground of two colours.
pub(super) fn png(name: &str) -> Result<Vec<u8>> {
    let hash = blake3::hash(name.as_bytes());
    let seed = hash.as_bytes();
    let colour = |place: usize| [seed[place], seed[place + 1], seed[place + 2]].map(|part| 60 + part / 2);
    let (top, bottom) = (colour(0), colour(3));
    let discs: Vec<_> = (0..4_usize)
        .map(|number| {
            let at = 8 + 6 * number;
            let part = |place: usize| i64::from(seed[at + place]);
            (
                part(0) * i64::from(WIDTH) / 255,
                part(1) * i64::from(HEIGHT) / 255,
                40 + part(2) / 2,
                colour(at),
            )
        })
        .collect();
    let mut pixels = Vec::with_capacity((WIDTH * HEIGHT * 3) as usize);
    for y in 0..HEIGHT {
        let mix = |place: usize| {
            let (from, to) = (u32::from(top[place]), u32::from(bottom[place]));
            ((from * (HEIGHT - y) + to * y) / HEIGHT) as u8
        };
        let ground = [mix(0), mix(1), mix(2)];
        for x in 0..WIDTH {
            let inside = |(cx, cy, radius, _): &&(i64, i64, i64, [u8; 3])| {
                let (dx, dy) = (i64::from(x) - cx, i64::from(y) - cy);
                dx * dx + dy * dy < radius * radius
            };
            pixels.extend_from_slice(discs.iter().rev().find(inside).map_or(&ground, |(.., colour)| colour));
        }
    }
    let mut file = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::NoFilter);
    encoder.write_image(&pixels, WIDTH, HEIGHT, ExtendedColorType::Rgb8)?;
    Ok(file)
}
