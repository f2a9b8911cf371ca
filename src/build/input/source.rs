//! Opening an input: a file, a compressed file, or standard input.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Files made with `zstd --long=31` need a window of this many bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// The bytes of an input, decompressed.
pub(super) struct Source {
    pub(super) reader: Box<dyn Read + Send>,
    /// Its name in messages.
    pub(super) name: String,
    /// What is done to its bytes: completes the words "cannot ... it".
    pub(super) doing: &'static str,
    /// The bytes of the file, if it is one.
    pub(super) file_len: Option<u64>,
    /// How many of them were read so far.
    pub(super) taken: Arc<AtomicU64>,
}

impl Source {
    /// Opens the file at `path`, or standard input if it is `-`.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let taken = Arc::<AtomicU64>::default();
        if path == Path::new("-") {
            let name = "standard input".into();
            let reader = Box::new(io::stdin());
            return Ok(Source { reader, name, doing: "read", file_len: None, taken });
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("inspect", path))?;
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Error::Io { doing: "read", path: path.into(), source });
        }
        let compression = Compression::of(path);
        let doing = if compression.is_some() { "decompress" } else { "read" };
        let counted = Counted { file, taken: taken.clone() };
        let reader: Box<dyn Read + Send> = match compression {
            Some(Compression::Gzip) => {
                Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(counted)))
            }
            Some(Compression::Zstandard) => {
                let decoder = zstd::Decoder::new(counted).and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                    Ok(decoder)
                });
                Box::new(decoder.map_err(Error::io("decompress", path))?)
            }
            None => Box::new(counted),
        };
        let file_len = metadata.is_file().then_some(metadata.len());
        Ok(Source { reader, name: path.display().to_string(), doing, file_len, taken })
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    taken: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.file.read(buffer)?;
        self.taken.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
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
