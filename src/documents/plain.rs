//! A file that is one document.

use std::io::Read;
use std::path::Path;

use crate::documents::decode::{TextEncoding, Undecodable, decode_stream};
use crate::error::{Error, Result};
use crate::source;

/// Hands over the text of a file piece by piece.
pub(super) fn read(
    path: &Path,
    encoding: TextEncoding,
    take: &mut dyn FnMut(&str),
) -> Result<std::result::Result<(), Undecodable>> {
    let reader = source::open(path)?;
    decode_stream(reader, encoding, take).map_err(Error::io(source::doing(path), path))
}

/// All bytes of a file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = source::open(path)?;
    reader.read_to_end(&mut bytes).map_err(Error::io(source::doing(path), path))?;
    Ok(bytes)
}
