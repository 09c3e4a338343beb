//! From a stranger's bytes to a checked photo with its sizes.

use std::io::Cursor;

use fast_image_resize::images::Image;
use fast_image_resize::{PixelType, ResizeOptions, Resizer};
use image::codecs::{
    gif::GifDecoder, jpeg::JpegEncoder, png::PngDecoder, webp::WebPDecoder, webp::WebPEncoder,
};
use image::metadata::Orientation;
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder as _, ImageError, RgbImage};
use wire::model::PhotoSize;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::bundle::{self, ORIGINAL, Part, Type};
use crate::measure::{self, Measured, measure};
use crate::strip::strip;
use crate::{Format, Settings};

/// The long sides that are made.
pub const SIZES: [u32; 4] = [100, 400, 800, 1_600];
const JPEG_QUALITY: u8 = 85;
/// Room for decoders beyond the pixels themselves.
const DECODER_BYTES: u64 = 64 << 20;
/// A progressive JPEG of more scans costs time and shows nothing new.
const MAX_SCANS: usize = 64;

/// A photo as it is stored.
#[derive(Clone, Debug)]
pub struct Picture {
    pub file: Vec<u8>,
    pub width: u32,
    pub height: u32,
    pub sizes: Vec<PhotoSize>,
    /// Photos that look alike differ in few bits.
    pub likeness: u64,
    /// From 1 to 1000, as in `measure`.
    pub sharpness: u32,
    pub exposure: u32,
}

/// Why it is none: a code of `model::message` with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: &'static str,
    pub parameters: Vec<String>,
}

fn refuse<T>(code: &'static str, parameters: Vec<String>) -> Result<T, Refusal> {
    Err(Refusal { code, parameters })
}

/// Checks the bytes and makes the sizes. Takes a while and much memory: called off the runtime, few at a time.
pub fn make(original: Vec<u8>, settings: &Settings) -> Result<Picture, Refusal> {
    if original.len() as u64 > settings.max_bytes {
        return refuse("photo_too_large", vec![settings.max_bytes.to_string()]);
    }
    let Some(content) = sniff(&original) else { return refuse("photo_not_an_image", Vec::new()) };
    let Some(stripped) = strip(&original, content, settings.max_pixels) else {
        return refuse("photo_damaged", vec!["its parts do not fit together".to_owned()]);
    };
    drop(original);
    let pixels = upright(decode(&stripped.bytes, content, settings)?, stripped.orientation);
    let (width, height) = pixels.dimensions();
    let mut parts = Vec::new();
    let mut smaller = pixels;
    let mut measured = Measured::default();
    // From the largest down, each from the one before it.
    for size in SIZES.into_iter().rev() {
        let (before, wanted) = (smaller.dimensions(), fit(width, height, size));
        let same = before == wanted && !parts.is_empty();
        if before != wanted {
            smaller = shrink(smaller, wanted)?;
        }
        if size == measure::SIZE {
            measured = measure(&smaller);
        }
        let bytes = if same { None } else { Some(encode(&smaller, settings.format)?) };
        let content = if settings.format == Format::WebP { Type::WebP } else { Type::Jpeg };
        let part =
            Part { size, content: content.into(), width: wanted.0, height: wanted.1, offset: 0, length: 0 };
        parts.push((part, bytes));
    }
    let mut sizes: Vec<PhotoSize> = parts
        .iter()
        .map(|(part, _)| PhotoSize { size: part.size, width: part.width, height: part.height })
        .collect();
    sizes.reverse();
    let likeness = likeness(smaller)?;
    let whole = Part { size: ORIGINAL, content: content.into(), width, height, offset: 0, length: 0 };
    parts.push((whole, Some(stripped.bytes)));
    let Measured { sharpness, exposure } = measured;
    Ok(Picture { file: bundle::write(parts), width, height, sizes, likeness, sharpness, exposure })
}

/// What the bytes say they are; what a name or a header says does not count.
fn sniff(bytes: &[u8]) -> Option<Type> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some(Type::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Type::Png),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Type::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Type::WebP),
        _ => None,
    }
}

fn decode(bytes: &[u8], content: Type, settings: &Settings) -> Result<RgbImage, Refusal> {
    match content {
        Type::Jpeg => decode_jpeg(bytes, settings),
        Type::Png => {
            let decoder = PngDecoder::with_limits(Cursor::new(bytes), limits(settings));
            decode_with(decoder.map_err(damaged)?, settings)
        }
        Type::Gif => decode_with(GifDecoder::new(Cursor::new(bytes)).map_err(damaged)?, settings),
        Type::WebP => decode_with(WebPDecoder::new(Cursor::new(bytes)).map_err(damaged)?, settings),
    }
}

/// Strictly: an image whose end is missing is not a grey half but an error.
fn decode_jpeg(bytes: &[u8], settings: &Settings) -> Result<RgbImage, Refusal> {
    let damaged = |error: zune_jpeg::errors::DecodeErrors| Refusal {
        code: "photo_damaged",
        parameters: vec![short(&format!("{error:?}"))],
    };
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_max_scans(MAX_SCANS)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(damaged)?;
    let Some(info) = decoder.info() else { return refuse("photo_not_an_image", Vec::new()) };
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    check_dimensions(width, height, settings)?;
    let pixels = decoder.decode().map_err(damaged)?;
    let Some(pixels) = RgbImage::from_raw(width, height, pixels) else {
        return refuse("photo_damaged", vec!["the pixels are incomplete".to_owned()]);
    };
    Ok(pixels)
}

fn decode_with(mut decoder: impl ImageDecoder, settings: &Settings) -> Result<RgbImage, Refusal> {
    let (width, height) = decoder.dimensions();
    check_dimensions(width, height, settings)?;
    decoder.set_limits(limits(settings)).map_err(damaged)?;
    Ok(flatten(DynamicImage::from_decoder(decoder).map_err(damaged)?))
}

/// What a decoder may take.
fn limits(settings: &Settings) -> image::Limits {
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(settings.max_pixels.saturating_mul(8) + DECODER_BYTES);
    limits
}

fn upright(pixels: RgbImage, orientation: Orientation) -> RgbImage {
    let mut image = DynamicImage::from(pixels);
    image.apply_orientation(orientation);
    image.into_rgb8()
}

fn check_dimensions(width: u32, height: u32, settings: &Settings) -> Result<(), Refusal> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > settings.max_pixels {
        return refuse("photo_too_many_pixels", vec![pixels.to_string(), settings.max_pixels.to_string()]);
    }
    if width.min(height) < settings.min_side_pixels.max(1) {
        return refuse("photo_too_small", vec![settings.min_side_pixels.to_string()]);
    }
    Ok(())
}

/// What can be seen through is white: JPEG has no other way to show it.
fn flatten(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let seen = image.into_rgba8();
    let mut flat = RgbImage::new(seen.width(), seen.height());
    for (from, to) in seen.pixels().zip(flat.pixels_mut()) {
        let [red, green, blue, alpha] = from.0.map(u32::from);
        to.0 = [red, green, blue].map(|colour| ((colour * alpha + 255 * (255 - alpha) + 127) / 255) as u8);
    }
    flat
}

/// The dimensions whose long side is at most `size`; nothing grows.
fn fit(width: u32, height: u32, size: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= size {
        return (width, height);
    }
    let scale = |side: u32| {
        let scaled = (u64::from(side) * u64::from(size) + u64::from(long) / 2) / u64::from(long);
        (scaled as u32).max(1)
    };
    (scale(width), scale(height))
}

fn shrink(image: RgbImage, (width, height): (u32, u32)) -> Result<RgbImage, Refusal> {
    let failed = |text: String| Refusal { code: "photo_damaged", parameters: vec![short(&text)] };
    let (from_width, from_height) = image.dimensions();
    let from = Image::from_vec_u8(from_width, from_height, image.into_raw(), PixelType::U8x3)
        .map_err(|error| failed(error.to_string()))?;
    let mut to = Image::new(width, height, PixelType::U8x3);
    Resizer::new()
        .resize(&from, &mut to, &ResizeOptions::new())
        .map_err(|error| failed(error.to_string()))?;
    RgbImage::from_raw(width, height, to.into_vec())
        .ok_or_else(|| failed("the size is incomplete".to_owned()))
}

fn encode(image: &RgbImage, format: Format) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let (width, height) = image.dimensions();
    let rgb = ExtendedColorType::Rgb8;
    match format {
        Format::Jpeg => {
            JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY).write_image(image, width, height, rgb)
        }
        Format::WebP => WebPEncoder::new_lossless(&mut bytes).write_image(image, width, height, rgb),
    }
    .map_err(damaged)?;
    Ok(bytes)
}

/// Whether each of 8 × 8 fields is brighter than its right neighbour: survives scaling, recompression and small edits.
fn likeness(image: RgbImage) -> Result<u64, Refusal> {
    let small = shrink(image, (9, 8))?;
    let brightness = |x: u32, y: u32| {
        let [red, green, blue] = small.get_pixel(x, y).0.map(u32::from);
        red * 299 + green * 587 + blue * 114
    };
    let fields = (0..8).flat_map(|y| (0..8).map(move |x| (x, y)));
    Ok(fields.fold(0, |bits, (x, y)| bits << 1 | u64::from(brightness(x, y) > brightness(x + 1, y))))
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn damaged(error: ImageError) -> Refusal {
    match error {
        ImageError::Limits(_) => {
            Refusal { code: "photo_damaged", parameters: vec!["it needs too much memory".into()] }
        }
        error => Refusal { code: "photo_damaged", parameters: vec![short(&error.to_string())] },
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}
