//! Opening an input: a file, a compressed file, or standard input.
//!
//! The end of the name decides the compression. Every reader of inputs opens them here, so that all
//! take the same files and name them alike in errors.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::IoError;
use crate::waiting::{self, WaitingFile};

/// Bytes that a buffered input takes at a time.
pub const BUFFER_LEN: usize = 1 << 18;
/// Files made with `zstd --long=31` need a window of this many bits.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// The bytes of an input, decompressed.
pub struct Source {
    /// The bytes, decompressed.
    pub reader: Box<dyn Read + Send>,
    /// Its name in messages.
    pub name: String,
    /// The act on its bytes: completes the words "cannot ... it".
    pub doing: &'static str,
    /// The length of the file in bytes, if it is a regular file.
    pub file_len: Option<u64>,
    /// The number of these bytes that were read so far.
    pub taken: Arc<AtomicU64>,
}

impl Source {
    /// Opens the file at `path`, or standard input if it is `-`.
    pub fn open(path: &Path) -> Result<Self, IoError> {
        let taken = Arc::<AtomicU64>::default();
        let (name, doing) = (name_of(path), doing(path));
        if path == Path::new("-") {
            let reader = waiting::stdin();
            return Ok(Source { reader, name, doing, file_len: None, taken });
        }
        let file = WaitingFile::open(path).map_err(IoError::of("open", path))?;
        let metadata = file.file().metadata().map_err(IoError::of("inspect", path))?;
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(IoError { doing: "read", path: path.into(), source });
        }
        let compression = Compression::of(path);
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
                Box::new(decoder.map_err(IoError::of("decompress", path))?)
            }
            None => Box::new(counted),
        };
        let file_len = metadata.is_file().then_some(metadata.len());
        Ok(Source { reader, name, doing, file_len, taken })
    }
}

/// Opens an input: the file at `path`, decompressed if its name ends in `.gz` or `.zst`, or
/// standard input if it is `-`.
///
/// # Errors
///
/// [`IoError`] if there is no such file, it is a folder, or the system refuses.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, IoError> {
    let source = Source::open(path)?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_LEN, source.reader)))
}

/// The name of an input in messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// The act on the bytes of an input, for messages: `decompress` or `read`.
pub fn doing(path: &Path) -> &'static str {
    if Compression::of(path).is_some() { "decompress" } else { "read" }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: WaitingFile,
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
