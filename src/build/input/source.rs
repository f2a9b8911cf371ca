//! Opening an input: a file, a compressed file, or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::error::{Error, Result};

/// Files made with `zstd --long=31` need a window of this many bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
const BUFFER_LEN: usize = 1 << 18;

/// The name of an input in messages.
pub(super) fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// The decompressed bytes of an input.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_LEN, io::stdin())));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(Error::Io { doing: "read", path: path.into(), source });
    }
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            let decoder = flate2::read::MultiGzDecoder::new(BufReader::new(file));
            Box::new(BufReader::with_capacity(BUFFER_LEN, decoder))
        }
        Some("zst") => {
            let mut decoder = zstd::Decoder::new(file).map_err(Error::io("decompress", path))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(Error::io("decompress", path))?;
            Box::new(BufReader::with_capacity(BUFFER_LEN, decoder))
        }
        _ => Box::new(BufReader::with_capacity(BUFFER_LEN, file)),
    })
}
