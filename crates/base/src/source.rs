//! Opens an input: a file, a compressed file, or standard input.
//!
//! The file extension determines the compression; for texts, the first bytes do, too. All readers
//! open inputs here, so that they accept the same files and use the same names in messages.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::decompress::{GzipReader, ZstandardReader};
use crate::packed::{self, PACKERS, Packer, TAR_MAGIC, TAR_MAGIC_AT};
use crate::waiting::{self, WaitingFile};
use crate::{IoError, read_inputs};

/// The length of the buffer for an input in bytes.
pub const BUFFER_LEN: usize = 1 << 18;

/// An open input.
pub struct Source {
    /// A reader of the decompressed bytes.
    pub reader: Box<dyn Read + Send>,
    /// The name of the input in messages.
    pub name: String,
    /// The operation on the bytes, `decompress` or `read`, for messages such as "cannot read it".
    pub doing: &'static str,
    /// The length of the file in bytes, if it is a regular file.
    pub file_len: Option<u64>,
    /// The number of bytes read so far, counted before decompression.
    pub taken: Arc<AtomicU64>,
}

impl Source {
    /// Opens the file at `path`, or standard input if `path` is `-`. Decompresses it if its name
    /// ends in `.gz` or `.zst`, or if it starts with the magic bytes of such a file; no text starts
    /// with these bytes. Rejects files of other packers and archives; the error contains the
    /// command that unpacks them.
    pub fn open(path: &Path) -> Result<Self, IoError> {
        Source::open_as(path, true, None)
    }

    /// Like [`Source::open`], but after the error for a damaged gzip member, reading resumes with
    /// the next member; see [`GzipReader::resuming`].
    pub fn open_resuming(path: &Path, members: Arc<AtomicU64>) -> Result<Self, IoError> {
        Source::open_as(path, true, Some(members))
    }

    /// Like [`Source::open`], but only the file extension determines the compression, because
    /// binary data can start with any bytes.
    pub fn open_binary(path: &Path) -> Result<Self, IoError> {
        Source::open_as(path, false, None)
    }

    fn open_as(path: &Path, is_text: bool, resuming: Resuming) -> Result<Self, IoError> {
        let taken = Arc::<AtomicU64>::default();
        let (name, doing) = (name_of(path), doing(path));
        let text = |reader, resuming| -> BoxedReader {
            match is_text {
                true => Box::new(Sniffed::Unread(reader, resuming, path.into())),
                false => reader,
            }
        };
        if path == Path::new("-") {
            read_inputs::note_stdin();
            let reader = text(waiting::stdin(), resuming);
            return Ok(Source { reader, name, doing, file_len: None, taken });
        }
        let file = WaitingFile::open(path).map_err(IoError::of("open", path))?;
        let metadata = file.file().metadata().map_err(IoError::of("inspect", path))?;
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(IoError { doing: "read", path: path.into(), source });
        }
        read_inputs::note_file(path, &metadata);
        let counted = Box::new(Counted { file, taken: taken.clone() });
        let reader = match Compression::of(path) {
            Some(compression) => {
                let decoder = compression.decoder(counted, resuming);
                let decoder = decoder.map_err(IoError::of("decompress", path))?;
                if is_text { Sniffed::started(decoder, path) } else { decoder }
            }
            None => text(counted, resuming),
        };
        let file_len = metadata.is_file().then_some(metadata.len());
        Ok(Source { reader, name, doing, file_len, taken })
    }
}

type BoxedReader = Box<dyn Read + Send>;
/// The number of gzip members begun so far, if reading resumes after damaged members.
type Resuming = Option<Arc<AtomicU64>>;

/// A reader that checks the first bytes: decompresses compressed data, and rejects archives.
enum Sniffed {
    Unread(BoxedReader, Resuming, PathBuf),
    /// The reader. While its first bytes may still be those of an archive, also these bytes and the
    /// path.
    Started(BoxedReader, Option<(Vec<u8>, PathBuf)>),
}

impl Sniffed {
    fn started(reader: BoxedReader, path: &Path) -> BoxedReader {
        Box::new(Sniffed::Started(reader, Some((Vec::new(), path.into()))))
    }
}

impl Read for Sniffed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Sniffed::Unread(reader, resuming, path) = self {
            let reader = std::mem::replace(reader, Box::new(io::empty()));
            let path = std::mem::take(path);
            let reader = start(reader, resuming.take(), &path)?;
            *self = Sniffed::Started(reader, Some((Vec::new(), path)));
        }
        let Sniffed::Started(reader, unknown) = self else { return Ok(0) };
        let len = reader.read(buffer)?;
        if let Some((head, path)) = unknown {
            head.extend_from_slice(&buffer[..len.min(TAR_MAGIC_AT + TAR_MAGIC.len())]);
            if let Some(refusal) = packed::archive_of(head, path) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, refusal));
            }
            if head.len() >= TAR_MAGIC_AT + TAR_MAGIC.len() || len == 0 {
                *unknown = None;
            }
        }
        Ok(len)
    }
}

/// Reads only the magic bytes of a compressed input: waiting for more would make a typed line wait
/// for the next one.
fn start(mut reader: BoxedReader, resuming: Resuming, path: &Path) -> io::Result<BoxedReader> {
    let mut head = Vec::new();
    let content = loop {
        match Content::of(&head) {
            Content::MayBe => {}
            content => break content,
        }
        let mut byte = [0];
        match reader.read(&mut byte) {
            Ok(0) => break Content::IsNot,
            Ok(_) => head.push(byte[0]),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault),
        }
    };
    let whole = Box::new(io::Cursor::new(head).chain(reader));
    match content {
        Content::Is(compression) => compression.decoder(whole, resuming),
        Content::Packed(packer) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, packer.refusal(path)))
        }
        Content::MayBe | Content::IsNot => Ok(whole),
    }
}

/// Opens a text: the file at `path`, or standard input if `path` is `-`; see [`Source::open`].
///
/// # Errors
///
/// [`IoError`] if there is no such file, if it is a folder, or if the system cannot open it.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, IoError> {
    let source = Source::open(path)?;
    Ok(Box::new(BufReader::with_capacity(BUFFER_LEN, source.reader)))
}

/// The name of the input at `path` in messages.
pub fn name_of(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// The operation on the bytes of the input at `path`, for messages: `decompress` or `read`.
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

/// A format of compressed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Gzip, RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstandard,
}

/// A writer that compresses, or does not compress, its bytes.
pub enum Encoder<W: Write> {
    /// Without compression.
    Plain(W),
    /// See [`Compression::Gzip`].
    Gzip(flate2::write::GzEncoder<W>),
    /// See [`Compression::Zstandard`].
    Zstandard(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// A writer of compressed data to `to`, at the default level of the format.
    pub fn new(compression: Option<Compression>, to: W) -> io::Result<Self> {
        Ok(match compression {
            None => Encoder::Plain(to),
            Some(Compression::Gzip) => {
                Encoder::Gzip(flate2::write::GzEncoder::new(to, flate2::Compression::default()))
            }
            Some(Compression::Zstandard) => {
                let mut encoder = zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Encoder::Zstandard(encoder)
            }
        })
    }

    /// Writes the end of the compressed data, without which the file would be damaged.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Encoder::Plain(to) => Ok(to),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstandard(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::Plain(to) => to.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstandard(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(to) => to.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
            Encoder::Zstandard(encoder) => encoder.flush(),
        }
    }
}

/// The kind of an input, judged by its first bytes.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Is(Compression),
    Packed(&'static Packer),
    MayBe,
    IsNot,
}

impl Content {
    /// Judges by the first bytes. No text starts with magic bytes, in any encoding in use.
    fn of(head: &[u8]) -> Self {
        // Zstandard and LZ4 have 16 magic numbers of skippable frames in common, and some Zstandard
        // files begin with such a frame.
        let skippable = [head.first().map_or(0x50, |first| 0x50 | first & 0xf), 0x2a, 0x4d, 0x18];
        let known = [
            (Compression::Gzip, [0x1f, 0x8b, 0x08].as_slice()),
            (Compression::Zstandard, &[0x28, 0xb5, 0x2f, 0xfd]),
            (Compression::Zstandard, &skippable),
        ];
        let known = known.into_iter().map(|(it, magic)| (Content::Is(it), magic));
        let packed = PACKERS.iter().map(|packer| (Content::Packed(packer), packer.magic));
        let mut content = Content::IsNot;
        for (found, magic) in known.chain(packed) {
            let is_equal = |(own, byte): (&u8, &u8)| *own == packed::ANY || own == byte;
            match magic.iter().zip(head).all(is_equal) {
                true if magic.len() <= head.len() => return found,
                true => content = Content::MayBe,
                false => {}
            }
        }
        content
    }
}

impl Compression {
    /// The compression that [`Source::open`] uses for the file at `path`: by its extension,
    /// otherwise by its first bytes.
    pub fn of_file(path: &Path) -> Result<Option<Self>, IoError> {
        if let Some(compression) = Compression::of(path) {
            return Ok(Some(compression));
        }
        let mut head = Vec::new();
        let file = WaitingFile::open(path).map_err(IoError::of("open", path))?;
        file.take(16).read_to_end(&mut head).map_err(IoError::of("read", path))?;
        Ok(match Content::of(&head) {
            Content::Is(compression) => Some(compression),
            _ => None,
        })
    }

    fn decoder(self, reader: BoxedReader, resuming: Resuming) -> io::Result<BoxedReader> {
        Ok(match (self, resuming) {
            (Compression::Gzip, Some(members)) => {
                Box::new(GzipReader::resuming(BufReader::new(reader), members))
            }
            (Compression::Gzip, None) => Box::new(GzipReader::new(BufReader::new(reader))),
            (Compression::Zstandard, _) => {
                Box::new(ZstandardReader::new(BufReader::with_capacity(BUFFER_LEN, reader))?)
            }
        })
    }

    /// The compression that the extension of `path` names, in upper or lower case.
    pub fn of(path: &Path) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that returns one byte in each read and counts the reads.
    struct Drip(Vec<u8>, Arc<AtomicU64>);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let at = self.1.fetch_add(1, Ordering::Relaxed) as usize;
            let Some(&byte) = self.0.get(at) else { return Ok(0) };
            buffer[0] = byte;
            Ok(1)
        }
    }

    #[test]
    fn compressed_data_is_known_by_its_first_bytes() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, b"some text").unwrap();
        let zstandard = zstd::encode_all(&b"some text"[..], 1).unwrap();
        for bytes in [gzip.finish().unwrap(), zstandard, b"some text".to_vec()] {
            let mut text = String::new();
            let mut reader =
                Sniffed::Unread(Box::new(Drip(bytes, Arc::default())), None, PathBuf::new());
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "some text");
        }
        for start in [&b""[..], b"\x1f", b"\x1f\x8b", b"(", b"(\xb5/x"] {
            let mut bytes = Vec::new();
            let mut reader = Sniffed::Unread(
                Box::new(Drip(start.to_vec(), Arc::default())),
                None,
                PathBuf::new(),
            );
            reader.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, start);
        }
    }

    #[test]
    fn files_of_other_packers_and_archives_are_named_with_the_command_that_unpacks_them() {
        let folder = tempfile::tempdir().unwrap();
        let tar = [&b"a.jsonl"[..], &[0; 250], b"ustar\0", &[0; 249], b"{}\n"].concat();
        let gzip = |bytes: &[u8]| {
            let mut encoder = Encoder::new(Some(Compression::Gzip), Vec::new()).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        for (name, bytes, told) in [
            ("a.jsonl.xz", b"\xfd7zXZ\0\0\x04".to_vec(), "an xz file; unpack it: xz -dk "),
            ("a.jsonl", b"\xfd7zXZ\0\0\x04".to_vec(), "an xz file; unpack it: xz -dc < "),
            ("a.Z.txt", b"\x1f\x9d\x90".to_vec(), "unpack it: uncompress -c < "),
            ("no ending", b"BZh91AY&SYmore".to_vec(), "a bzip2 file; unpack it: bzip2 -dk '"),
            ("empty.bz2", b"BZh9\x17rE8P\x90\0\0\0\0".to_vec(), "a bzip2 file"),
            ("a.lz4", b"\x04\x22\x4d\x18\x64".to_vec(), "an LZ4 file; unpack it: lz4 -dk "),
            ("a.zip", b"PK\x03\x04\x14\0".to_vec(), "a zip file; unpack it: unzip "),
            ("a.wacz", b"PK\x03\x04\x14\0".to_vec(), "a WACZ file, a zip of web archives"),
            ("a.7z", b"7z\xbc\xaf\x27\x1c\0".to_vec(), "a 7z file; unpack it: 7z x "),
            ("a.rar", b"Rar!\x1a\x07\x01\0".to_vec(), "a RAR file; unpack it: unrar x "),
            ("a.tar", tar.clone(), "a tar archive; unpack it: tar -xf "),
            ("a.tar.gz", gzip(&tar), "a tar archive; unpack it: tar -xf "),
            ("a.tgz", gzip(&tar), "a tar archive; unpack it: tar -xf "),
            ("a.arc.gz", gzip(b"filedesc://a.arc 0.0.0.0 2008"), "warcio recompress "),
            ("a.txt", b"filedesc://a.arc 0.0.0.0 2008".to_vec(), "an ARC file"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let mut reader = Source::open(&path).unwrap().reader;
            let fault = reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
            assert!(fault.contains(told) && fault.contains(name), "{name}: {fault}");
        }
        let path = folder.path().join("b.txt");
        std::fs::write(&path, b"PAR1\x15\x04\r\0").unwrap();
        let fault = Source::open(&path).unwrap().reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(fault.to_string().contains("a Parquet file"), "{fault}");
        for text in ["PK\nmore", "BZh9 is a text", "7", "Rar! a text", "file", "Para\n", "\u{4}\""]
        {
            let path = folder.path().join("text");
            std::fs::write(&path, text).unwrap();
            let mut read = String::new();
            Source::open(&path).unwrap().reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
        let frames =
            [&b"\x5e\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd::encode_all(&b"text"[..], 1).unwrap()];
        let path = folder.path().join("skippable");
        std::fs::write(&path, frames.concat()).unwrap();
        assert_eq!(Compression::of_file(&path).unwrap(), Some(Compression::Zstandard));
        let mut read = String::new();
        Source::open(&path).unwrap().reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "text");
    }

    #[test]
    fn what_is_written_is_read_with_the_compression_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no ending");
        for compression in [None, Some(Compression::Gzip), Some(Compression::Zstandard)] {
            for text in ["", "a", "some text"] {
                let mut encoder = Encoder::new(compression, Vec::new()).unwrap();
                encoder.write_all(text.as_bytes()).unwrap();
                std::fs::write(&path, encoder.finish().unwrap()).unwrap();
                assert_eq!(Compression::of_file(&path).unwrap(), compression);
                let mut read = String::new();
                Source::open(&path).unwrap().reader.read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
            }
        }
    }

    #[test]
    fn a_short_line_does_not_wait_for_more() {
        let taken = Arc::<AtomicU64>::default();
        let mut reader = Sniffed::Unread(
            Box::new(Drip(b"f\nmore".to_vec(), taken.clone())),
            None,
            PathBuf::new(),
        );
        let mut byte = [0; 8];
        assert_eq!(reader.read(&mut byte).unwrap(), 1);
        assert_eq!(taken.load(Ordering::Relaxed), 1);
    }
}
