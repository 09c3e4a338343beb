//! How sharp a photo is and how well exposed: what the order of photos goes by.
//!
//! Both are measured at one size, so that photos of different resolution can be compared; resolution is a number of its
//! own.

use image::RgbImage;

/// The long side at which photos are measured; a smaller one is measured as it is.
pub(crate) const SIZE: u32 = 800;
/// The variance of a photo that could not be sharper.
const SHARPEST: f64 = 4_000.0;
/// Of a photo that is bright enough, the brightest twentieth is at least this bright.
const BRIGHT: f64 = 180.0;
/// Of a photo that is not washed out, the darkest twentieth is at least this far from white.
const DEEP: f64 = 130.0;

/// Each from 1 to 1000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) sharpness: u32,
    pub(crate) exposure: u32,
}

pub(crate) fn measure(image: &RgbImage) -> Measured {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let luma: Vec<i32> = image.pixels().map(|pixel| brightness(pixel.0)).collect();
    Measured { sharpness: sharpness(&luma, width, height), exposure: exposure(&luma) }
}

fn brightness([red, green, blue]: [u8; 3]) -> i32 {
    (i32::from(red) * 299 + i32::from(green) * 587 + i32::from(blue) * 114) / 1_000
}

/// The variance of the second derivative: edges that were smeared have none. On a scale of logarithms, since twice the
/// variance does not look twice as sharp.
fn sharpness(luma: &[i32], width: usize, height: usize) -> u32 {
    if width < 3 || height < 3 {
        return 1;
    }
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            let at = y * width + x;
            let around = luma[at - 1] + luma[at + 1] + luma[at - width] + luma[at + width];
            let edge = f64::from(around - 4 * luma[at]);
            (sum, squares, count) = (sum + edge, squares + edge * edge, count + 1.0);
        }
    }
    let mean: f64 = sum / count;
    let variance: f64 = (squares / count - mean * mean).max(0.0);
    thousandths(variance.ln_1p() / SHARPEST.ln_1p())
}

/// Whether bright parts are bright and dark parts are dark. The middle says nothing: a good photo of a thing on a white
/// ground is nearly white.
fn exposure(luma: &[i32]) -> u32 {
    let mut histogram = [0_usize; 256];
    for brightness in luma {
        histogram[(*brightness).clamp(0, 255) as usize] += 1;
    }
    let percentile = |share: usize| {
        let mut below = 0;
        let reached = histogram.iter().position(|count| {
            below += count;
            below * 100 >= luma.len() * share
        });
        reached.unwrap_or(255) as f64
    };
    let bright = (percentile(95) / BRIGHT).min(1.0);
    let deep = ((255.0 - percentile(5)) / DEEP).min(1.0);
    thousandths(bright * deep)
}

fn thousandths(share: f64) -> u32 {
    ((share * 1_000.0).round() as u32).clamp(1, 1_000)
}

#[cfg(test)]
mod tests {
    use image::imageops::blur;
    use image::{Rgb, RgbImage};

    use super::*;

    /// Squares of two greys.
    fn board(dark: u8, bright: u8) -> RgbImage {
        RgbImage::from_fn(400, 300, |x, y| {
            let grey = if (x / 20 + y / 20) % 2 == 0 { dark } else { bright };
            Rgb([grey; 3])
        })
    }

    #[test]
    fn blur_costs_sharpness() {
        let sharp = board(40, 210);
        let measured = |blurred: f32| measure(&blur(&sharp, blurred)).sharpness;
        let (none, little, much) = (measure(&sharp).sharpness, measured(1.5), measured(6.0));
        assert!(none > little + 100 && little > much + 100, "{none} {little} {much}");
        assert_eq!(measure(&RgbImage::from_pixel(100, 100, Rgb([90; 3]))).sharpness, 1);
        assert_eq!(measure(&RgbImage::from_pixel(2, 2, Rgb([90; 3]))).sharpness, 1);
    }

    #[test]
    fn dark_and_washed_out_photos_are_badly_exposed() {
        let exposure = |dark: u8, bright: u8| measure(&board(dark, bright)).exposure;
        assert_eq!(exposure(30, 220), 1_000);
        assert!(exposure(0, 60) < 400, "too dark: {}", exposure(0, 60));
        assert!(exposure(225, 255) < 300, "washed out: {}", exposure(225, 255));
        // A thing of a tenth of the area on a white ground.
        let on_white = RgbImage::from_fn(400, 300, |x, _| Rgb([if x < 40 { 70 } else { 255 }; 3]));
        assert_eq!(measure(&on_white).exposure, 1_000);
    }
}
