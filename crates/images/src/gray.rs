//! Grey pictures, converted from colour as in Pillow.

use image::{DynamicImage, GrayImage};

/// A grey picture: rows from the top, pixels from the left, one byte each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gray {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Gray {
    /// A picture of these pixels; `None` unless there are `width` times `height` pixels, at least
    /// one.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Option<Self> {
        let len = width.checked_mul(height)?;
        (len > 0 && pixels.len() == len).then_some(Gray { width, height, pixels })
    }

    /// The number of pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// All pixels, row by row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// Whether all pixels are equal.
    pub fn has_one_colour(&self) -> bool {
        self.pixels.iter().all(|pixel| *pixel == self.pixels[0])
    }
}

/// The brightness of each pixel, as in Pillow's `convert("L")`. Transparency is ignored.
pub(crate) fn gray_of(picture: DynamicImage) -> GrayImage {
    let (width, height) = (picture.width(), picture.height());
    let pixels: Vec<u8> = match picture {
        DynamicImage::ImageLuma8(gray) => return gray,
        DynamicImage::ImageLumaA8(it) => it.pixels().map(|pixel| pixel.0[0]).collect(),
        DynamicImage::ImageRgb8(it) => it.pixels().map(|pixel| luma(pixel.0)).collect(),
        DynamicImage::ImageRgba8(it) => {
            it.pixels().map(|p| luma([p.0[0], p.0[1], p.0[2]])).collect()
        }
        DynamicImage::ImageLuma16(it) => it.pixels().map(|pixel| high(pixel.0[0])).collect(),
        DynamicImage::ImageLumaA16(it) => it.pixels().map(|pixel| high(pixel.0[0])).collect(),
        DynamicImage::ImageRgb16(it) => it.pixels().map(|pixel| luma(pixel.0.map(high))).collect(),
        DynamicImage::ImageRgba16(it) => {
            it.pixels().map(|p| luma([p.0[0], p.0[1], p.0[2]].map(high))).collect()
        }
        other => other.into_rgb8().pixels().map(|pixel| luma(pixel.0)).collect(),
    };
    GrayImage::from_raw(width, height, pixels).expect("there is one value for each pixel")
}

/// The brightness by ITU-R 601-2, rounded as in Pillow.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let sum = u32::from(red) * 19_595 + u32::from(green) * 38_470 + u32::from(blue) * 7_471;
    ((sum + 0x8000) >> 16) as u8
}

/// The high byte of a sample of 16 bits.
fn high(sample: u16) -> u8 {
    (sample >> 8) as u8
}

impl From<GrayImage> for Gray {
    fn from(gray: GrayImage) -> Self {
        let (width, height) = (gray.width() as usize, gray.height() as usize);
        Gray { width, height, pixels: gray.into_raw() }
    }
}
