//! Decodes a picture from a file, within limits.

use std::io::BufReader;
use std::path::Path;

use image::metadata::Orientation as Turn;
use image::{DynamicImage, ImageDecoder, ImageError, ImageReader, Limits};

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

/// The error message for an incomplete file.
const CUT: &str = "it is damaged: its end is missing, as after an incomplete download";

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
        // Damaged EXIF data are ignored: all viewers show such pictures.
        Orientation::Exif => decoder.orientation().unwrap_or(Turn::NoTransforms),
        Orientation::Stored => Turn::NoTransforms,
    };
    check_end(path)?;
    let picture = DynamicImage::from_decoder(decoder).map_err(|error| fault_of(path, &error))?;
    let mut gray = DynamicImage::ImageLuma8(gray_of(picture));
    gray.apply_orientation(turn);
    Ok(gray_of(gray).into())
}

/// Refuses a JPEG file without an end marker, because the decoder fills missing parts with grey,
/// and a WebP file that is shorter than its header states.
fn check_end(path: &Path) -> Result<(), String> {
    let bytes = fpstore_base::read_inputs::read(path);
    let bytes = bytes.map_err(|error| format!("cannot read it: {error}"))?;
    let ends = match bytes[..] {
        [0xff, 0xd8, ..] => jpeg_ends(&bytes),
        [b'R', b'I', b'F', b'F', a, b, c, d, ..] => {
            bytes.len() as u64 >= 8 + u64::from(u32::from_le_bytes([a, b, c, d]))
        }
        _ => true,
    };
    if ends { Ok(()) } else { Err(CUT.into()) }
}

/// Whether the bytes of a JPEG file contain the marker of its end, outside of all segments.
fn jpeg_ends(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some(rest) = bytes.get(at..) {
        // In coded pixels 0xff can be followed by a stuffed 0, a restart marker or a fill byte.
        let is_marker =
            |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 1 | 0xd0..=0xd7 | 0xff);
        let Some(found) = rest.windows(2).position(is_marker) else { return false };
        match rest[found + 1..] {
            [0xd9, ..] => return true,
            [_, high, low, ..] => at += found + 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return false,
        }
    }
    false
}

/// The approximate peak memory of reading a picture in bytes; 0 if it cannot be read.
pub(crate) fn memory_of(path: &Path) -> usize {
    let Ok(decoder) = open(path) else { return 0 };
    let file_len = path.metadata().map_or(0, |it| it.len()).saturating_mul(2);
    let len = decoder.total_bytes().saturating_mul(MEMORY_FACTOR).saturating_add(file_len);
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// Opens a picture and reads its header.
fn open(path: &Path) -> Result<impl ImageDecoder, String> {
    let file = fpstore_base::read_inputs::open(path)
        .map_err(|error| format!("cannot open it: {error}"))?;
    let reader = ImageReader::new(BufReader::new(file)).with_guessed_format();
    let mut reader = reader.map_err(|error| format!("cannot read it: {error}"))?;
    if reader.format().is_none() {
        return Err("it is not a picture in JPEG, PNG, GIF, WebP, BMP or TIFF".into());
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_MAX);
    limits.max_image_height = Some(SIDE_MAX);
    limits.max_alloc = Some(DECODED_LEN_MAX);
    reader.limits(limits);
    reader.into_decoder().map_err(|error| fault_of(path, &error))
}

/// The error message for a picture that cannot be decoded.
fn fault_of(path: &Path, error: &ImageError) -> String {
    let text = error.to_string();
    let of_decoders = ["failed to fill whole buffer", "unexpected end of file"];
    let is_cut = of_decoders.iter().any(|end| text.to_ascii_lowercase().contains(end));
    if is_cut || check_end(path).is_err() { CUT.into() } else { text }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{ImageFormat, RgbImage};

    use super::*;

    #[test]
    fn a_cut_picture_of_any_format_is_called_cut() {
        let picture =
            RgbImage::from_fn(64, 48, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture");
        for format in [
            ImageFormat::Bmp,
            ImageFormat::Gif,
            ImageFormat::Jpeg,
            ImageFormat::Png,
            ImageFormat::Tiff,
            ImageFormat::WebP,
        ] {
            let mut bytes = Cursor::new(Vec::new());
            DynamicImage::from(picture.clone()).write_to(&mut bytes, format).unwrap();
            let bytes = bytes.into_inner();
            std::fs::write(&path, &bytes).unwrap();
            assert!(read_gray(&path, Orientation::Exif).is_ok(), "{format:?}");
            for part in [2, 5, 9] {
                std::fs::write(&path, &bytes[..bytes.len() * part / 10]).unwrap();
                let fault = read_gray(&path, Orientation::Exif).unwrap_err();
                assert_eq!(fault, CUT, "{format:?}: {part} tenths");
            }
        }
    }
}
