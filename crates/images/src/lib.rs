//! Perceptual hashes of pictures: files in, 64-bit fingerprints out.
//!
//! [`PictureHash`] names the hash and makes fingerprints of pixels; of the same pixels the values are
//! those of the Python package imagehash. [`read_gray`] decodes one file within limits,
//! [`hash_pictures`] all pictures of a folder on all threads. The package knows nothing of stores.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod dct;
mod error;
mod files;
mod gray;
mod hash;
mod read;
mod resize;
mod summary;

pub use error::Error;
pub use files::{Admission, PictureOptions, hash_pictures};
pub use gray::Gray;
pub use hash::{Orientation, PictureHash, PictureRecipe};
pub use read::{DECODED_LEN_MAX, SIDE_MAX, read_gray};
pub use summary::PictureSummary;
