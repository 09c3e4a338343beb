//! What is a photo, and what is not.

use image::ImageFormat;
use photos::bundle::{self, ORIGINAL, Type};
use photos::picture::{SIZES, make};
use photos::{Format, Settings};

use crate::images::{animated_gif, drawing, encoded, gif_bomb, jpeg, png_bomb};

fn refusal(bytes: Vec<u8>) -> &'static str {
    make(bytes, &Settings::default()).expect_err("it is refused").code
}

fn part(file: &[u8], size: u32) -> (bundle::Part, Vec<u8>) {
    let (part, range) = bundle::find(&file[..file.len().min(1_024)], size).unwrap();
    (part, file[range.start as usize..range.end as usize].to_vec())
}

#[test]
fn all_formats_get_all_sizes() {
    for (format, content) in [
        (ImageFormat::Jpeg, Type::Jpeg),
        (ImageFormat::Png, Type::Png),
        (ImageFormat::Gif, Type::Gif),
        (ImageFormat::WebP, Type::WebP),
    ] {
        let bytes = encoded(drawing(500, 250, 3), format);
        let picture = make(bytes.clone(), &Settings::default()).unwrap();
        assert_eq!((picture.width, picture.height), (500, 250), "{format:?}");
        let sizes: Vec<_> = picture.sizes.iter().map(|size| (size.size, size.width, size.height)).collect();
        assert_eq!(sizes, [(100, 100, 50), (400, 400, 200), (800, 500, 250), (1600, 500, 250)], "{format:?}");
        let (original, kept) = part(&picture.file, ORIGINAL);
        assert_eq!((original.content(), kept), (content, bytes), "{format:?}");
        for size in SIZES {
            let (part, bytes) = part(&picture.file, size);
            let read = image::load_from_memory_with_format(&bytes, ImageFormat::Jpeg).unwrap();
            assert_eq!((read.width(), read.height()), (part.width, part.height), "{format:?} {size}");
            assert_eq!(part.content(), Type::Jpeg);
        }
    }
}

#[test]
fn sizes_are_webp_by_choice() {
    let settings = Settings { format: Format::WebP, ..Settings::default() };
    let picture = make(jpeg(200, 300, 1), &settings).unwrap();
    let (small, bytes) = part(&picture.file, 100);
    assert_eq!((small.content(), small.width, small.height), (Type::WebP, 67, 100));
    image::load_from_memory_with_format(&bytes, ImageFormat::WebP).unwrap();
}

#[test]
fn bombs_are_refused_before_they_are_decoded() {
    assert_eq!(refusal(png_bomb(100_000, 100_000)), "photo_too_many_pixels");
    assert_eq!(refusal(png_bomb(0x7fff_ffff, 0x7fff_ffff)), "photo_damaged");
    assert_eq!(refusal(gif_bomb()), "photo_too_many_pixels");
    let small = Settings { max_pixels: 1_000, ..Settings::default() };
    let refused = make(jpeg(100, 100, 1), &small).unwrap_err();
    assert_eq!(
        (refused.code, refused.parameters),
        ("photo_too_many_pixels", vec!["10000".into(), "1000".into()])
    );
}

#[test]
fn half_an_image_is_damaged() {
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        let bytes = encoded(drawing(300, 300, 7), format);
        for share in [10, 50, 90] {
            let half = bytes[..bytes.len() * share / 100].to_vec();
            assert_eq!(refusal(half), "photo_damaged", "{format:?} {share} %");
        }
    }
}

#[test]
fn what_is_no_image_is_none_whatever_it_is_called() {
    for bytes in [
        b"<html><body>not found</body></html>".to_vec(),
        b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>".to_vec(),
        Vec::new(),
        b"\xff\xd8".to_vec(),
        b"BM\x00\x00".to_vec(),
        b"RIFF\0\0\0\0WAVE".to_vec(),
    ] {
        assert_eq!(refusal(bytes), "photo_not_an_image");
    }
    for bytes in [b"\xff\xd8\xff".to_vec(), b"\x89PNG\r\n\x1a\n".to_vec(), b"GIF89a".to_vec()] {
        assert_eq!(refusal(bytes), "photo_damaged");
    }
    assert_eq!(refusal(jpeg(8, 100, 1)), "photo_too_small");
    let small = Settings { max_bytes: 100, ..Settings::default() };
    assert_eq!(make(jpeg(100, 100, 1), &small).unwrap_err().code, "photo_too_large");
}

#[test]
fn of_an_animation_the_first_frame_counts() {
    let picture = make(animated_gif(), &Settings::default()).unwrap();
    let (_, bytes) = part(&picture.file, 100);
    let [red, _, blue] = image::load_from_memory(&bytes).unwrap().into_rgb8().get_pixel(20, 10).0;
    assert!(red > 200 && blue < 60, "{red} {blue}");
}

#[test]
fn what_can_be_seen_through_is_white() {
    let clear = image::RgbaImage::from_pixel(50, 50, image::Rgba([0, 0, 0, 0]));
    let mut bytes = Vec::new();
    image::DynamicImage::from(clear)
        .write_to(&mut std::io::Cursor::new(&mut bytes), ImageFormat::Png)
        .unwrap();
    let picture = make(bytes, &Settings::default()).unwrap();
    let (_, small) = part(&picture.file, 100);
    let pixel = image::load_from_memory(&small).unwrap().into_rgb8().get_pixel(5, 5).0;
    assert!(pixel.iter().all(|colour| *colour > 250), "{pixel:?}");
}

#[test]
fn photos_that_look_alike_differ_in_few_bits() {
    let likeness = |bytes| make(bytes, &Settings::default()).unwrap().likeness;
    let first = likeness(jpeg(640, 480, 5));
    let smaller = likeness(encoded(drawing(320, 240, 5), ImageFormat::Png));
    let other = likeness(jpeg(640, 480, 9));
    assert!((first ^ smaller).count_ones() <= 6, "{first:x} {smaller:x}");
    assert!((first ^ other).count_ones() >= 12, "{first:x} {other:x}");
}
