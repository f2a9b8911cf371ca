//! Perceptual hashes of pictures: files in, 64-bit fingerprints out.
//!
//! A [`PictureHash`] computes fingerprints of pixels, as the Python package imagehash does.
//! [`read_gray`] decodes one file within limits, [`hash_pictures`] hashes all pictures of a folder
//! on all threads. The package does not depend on stores.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod dct;
mod files;
mod gray;
mod hash;
mod read;
mod resize;

pub use files::{Admission, Error, PictureOptions, PictureSummary, hash_pictures};
pub use gray::Gray;
pub use hash::{Orientation, PictureHash, PictureRecipe, PictureVersion};
pub use read::{DECODED_LEN_MAX, SIDE_MAX, read_gray};
