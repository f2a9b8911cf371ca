//! Opening an input: a file, a compressed file, or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::error::{Error, Result};

/// Files made with `zstd --long=31` need a window of this many bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
const BUFFER_LEN: usize = 1 << 18;

/// The name of an input in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// Opens an input: the file at `path`, decompressed if its name ends in `.gz` or `.zst`, or standard
/// input if it is `-`.
///
/// # Errors
///
/// [`Error::Io`] if there is no such file, it is a folder, or the system refuses.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(BUFFER_LEN, io::stdin())));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(Error::Io { doing: "read", path: path.into(), source });
    }
    Ok(match Compression::of(path) {
        Some(Compression::Gzip) => {
            let decoder = flate2::read::MultiGzDecoder::new(BufReader::new(file));
            Box::new(BufReader::with_capacity(BUFFER_LEN, decoder))
        }
        Some(Compression::Zstandard) => {
            let mut decoder = zstd::Decoder::new(file).map_err(Error::io("decompress", path))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(Error::io("decompress", path))?;
            Box::new(BufReader::with_capacity(BUFFER_LEN, decoder))
        }
        None => Box::new(BufReader::with_capacity(BUFFER_LEN, file)),
    })
}

/// What is done to the bytes of an input, for messages.
pub(crate) fn doing(path: &Path) -> &'static str {
    if Compression::of(path).is_some() { "decompress" } else { "read" }
}

enum Compression {
    Gzip,
    Zstandard,
}

impl Compression {
    /// By the end of the name, in capitals or not.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("gz") {
            Some(Compression::Gzip)
        } else if extension.eq_ignore_ascii_case("zst") {
            Some(Compression::Zstandard)
        } else {
            None
        }
    }
}
