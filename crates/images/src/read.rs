//! Decodes a picture from a file, within limits.

use std::io::BufReader;
use std::path::Path;

use image::metadata::Orientation as Turn;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits};

use crate::gray::{Gray, gray_of};
use crate::hash::Orientation;

/// The longest side of a picture in pixels.
pub const SIDE_MAX: u32 = 65_535;
/// The largest length in bytes of the decoded pixels of a picture: a small file can declare any
/// size.
pub const DECODED_LEN_MAX: u64 = 512 << 20;
/// The peak memory of decoding and the following steps, in bytes for each byte of pixels: the
/// coefficients of a progressive JPEG file are larger than its pixels.
const MEMORY_FACTOR: u64 = 3;

/// Reads the first frame of a picture in grey. The bytes determine the format, not the name of the
/// file.
///
/// # Errors
///
/// A message if the file cannot be read, has an unknown format, is damaged, or is larger than
/// [`SIDE_MAX`] and [`DECODED_LEN_MAX`] allow.
pub fn read_gray(path: &Path, orientation: Orientation) -> Result<Gray, String> {
    let mut decoder = open(path)?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > DECODED_LEN_MAX {
        let len = decoder.total_bytes();
        return Err(format!(
            "{width} x {height} pixels take {len} bytes, more than {DECODED_LEN_MAX}"
        ));
    }
    if width == 0 || height == 0 {
        return Err("it has no pixels".into());
    }
    let turn = match orientation {
        // Damaged EXIF data are ignored: all programs show such pictures.
        Orientation::Exif => decoder.orientation().unwrap_or(Turn::NoTransforms),
        Orientation::Stored => Turn::NoTransforms,
    };
    let picture = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?;
    let mut gray = DynamicImage::ImageLuma8(gray_of(picture));
    gray.apply_orientation(turn);
    Ok(gray_of(gray).into())
}

/// The approximate peak memory of reading a picture in bytes; 0 if it cannot be read.
pub(crate) fn memory_of(path: &Path) -> usize {
    let Ok(decoder) = open(path) else { return 0 };
    let file_len = path.metadata().map_or(0, |it| it.len());
    let len = decoder.total_bytes().saturating_mul(MEMORY_FACTOR).saturating_add(file_len);
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// Reads the header.
fn open(path: &Path) -> Result<impl ImageDecoder, String> {
    let file = fpstore_base::read_inputs::open(path)
        .map_err(|error| format!("cannot open it: {error}"))?;
    let reader = ImageReader::new(BufReader::new(file)).with_guessed_format();
    let mut reader = reader.map_err(|error| format!("cannot read it: {error}"))?;
    if reader.format().is_none() {
        return Err("it is no picture in JPEG, PNG, GIF, WebP, BMP or TIFF".into());
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(DECODED_LEN_MAX);
    reader.limits(limits);
    reader.into_decoder().map_err(|error| error.to_string())
}
