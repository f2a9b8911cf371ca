//! Copying a file of documents without some of its records, with a mark in each, or with parts of
//! its texts cut out.
//!
//! Records that stay are copied byte for byte, with what stands between them: empty lines, a header,
//! a byte order mark. A record is known by the number that
//! [`DocumentPlace::record`](crate::DocumentPlace::record) gives; its content is not looked at. Bad
//! records stay as they are.

mod cut;
mod fate;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod warc;

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive::{self, Archive};
use super::decode::{self, TextEncoding};
use super::files::DocumentFile;
use super::formats::{DocumentFormat, TextFormat};
use super::options::DocumentOptions;
use super::paths;
use crate::error::{Error, Result};
use fpstore_base::IoError;
use fpstore_base::source::{self, Source};
use fpstore_base::watch::Watch;

pub use fate::{DecideFate, NewField, NewFieldKind, RecordFate};

impl DocumentFile<'_> {
    /// Whether the records of this file can be copied without being changed, and if `is_marked` also
    /// whether they can get a new field.
    ///
    /// # Errors
    ///
    /// [`Error::BadFile`] if not: the file is one document, or its encoding has bytes of line ends
    /// that are none.
    pub fn check_copy(&self, options: &DocumentOptions, is_marked: bool) -> Result<()> {
        let bad = |reason: String| Error::BadFile { name: self.name().into(), reason };
        match (self.format(), is_marked) {
            (format, false) if format.is_one_document() => {
                return Err(bad("it is one document, and has no records to copy".into()));
            }
            (DocumentFormat::Plain | DocumentFormat::Html | DocumentFormat::Lines, true) => {
                return Err(bad("its documents have no fields, so none can be added".into()));
            }
            (DocumentFormat::Warc, true) => {
                return Err(bad("records of a web archive get no fields".into()));
            }
            (DocumentFormat::Parquet | DocumentFormat::Warc, _) => return Ok(()),
            (DocumentFormat::JsonLines | DocumentFormat::Features, _)
            | (DocumentFormat::Csv | DocumentFormat::Tsv, _)
            | (DocumentFormat::Plain | DocumentFormat::Html | DocumentFormat::Lines, _) => {}
        }
        let mut head = Vec::new();
        let mut reader = Source::open(self.path())?.reader;
        let read = reader.by_ref().take(decode::HEAD_LEN as u64).read_to_end(&mut head);
        read.map_err(IoError::of(source::doing(self.path()), self.path()))?;
        options.encoding.check_line_ends(&head).map_err(bad)
    }

    /// Whether parts of the texts can be cut out while the records are copied: a text is one field
    /// of plain text, as it is read.
    ///
    /// # Errors
    ///
    /// [`Error::BadFile`] if not, and as [`DocumentFile::check_copy`].
    pub fn check_cut(&self, options: &DocumentOptions) -> Result<()> {
        let bad = |reason: &str| Error::BadFile { name: self.name().into(), reason: reason.into() };
        if self.format() == DocumentFormat::Warc {
            return Err(bad("a web archive keeps whole answers, so nothing can be cut out of one"));
        }
        if options.text_format != TextFormat::Plain {
            return Err(bad("its texts are markup, of which no part can be cut out"));
        }
        if paths::has_array(self.completed(options).text_name()) {
            return Err(bad("its texts are put together from arrays, so no part can be cut out"));
        }
        if options.encoding != TextEncoding::UTF_8 {
            return Err(bad("its encoding is not UTF-8, and texts are written in no other one"));
        }
        self.check_copy(options, false)
    }

    /// Copies the file to `out`, decompressed, without the records that `decide` drops. With new
    /// fields those that `decide` marks have them; in tables all records that stay are marked. `out`
    /// is flushed after each record of a web archive, which may be a member of its own where it is
    /// compressed. `watch` counts the bytes of the file, compressed as they are.
    ///
    /// # Errors
    ///
    /// * [`Error::Io`] if the file cannot be read or `out` cannot be written, and of `decide`.
    /// * [`Error::BadFile`] if it is broken, or a record cannot get the field.
    /// * [`Error::Interrupted`] if the observer ends the work.
    pub fn copy_records(
        &self,
        options: &DocumentOptions,
        new_fields: &[NewField],
        watch: &Watch,
        out: &mut (dyn Write + Send),
        decide: &mut DecideFate<'_>,
    ) -> Result<()> {
        let options = &self.completed(options);
        let format = self.format();
        #[cfg(feature = "parquet")]
        if format == DocumentFormat::Parquet {
            return parquet::copy(self, options.text_name(), new_fields, watch, out, decide);
        }
        let observed = |source: Source| {
            let observed = Observed { reader: source.reader, taken: source.taken, told: 0, watch };
            BufReader::with_capacity(source::BUFFER_LEN, observed)
        };
        if format == DocumentFormat::Warc {
            let (skip_bad, members) = (options.skip_bad, Arc::default());
            let source = archive::open(self.path(), skip_bad, &members)?;
            let archive = Archive::new(observed(source), skip_bad, members);
            let copied = warc::copy(archive, options.len_max, out, decide);
            return copied.map_err(|source| self.copy_error(source));
        }
        let mut reader = observed(Source::open(self.path())?);
        let copied = copy_mark(&mut reader, out).and_then(|head| {
            let reader = io::Cursor::new(head).chain(reader);
            match format {
                DocumentFormat::Csv | DocumentFormat::Tsv => {
                    let is_tsv = format == DocumentFormat::Tsv;
                    rows::copy_rows(reader, is_tsv, options, new_fields, out, decide)
                }
                // Records are lines. What has none was copied above, or refused by `check_copy`.
                DocumentFormat::JsonLines
                | DocumentFormat::Features
                | DocumentFormat::Lines
                | DocumentFormat::Plain
                | DocumentFormat::Html
                | DocumentFormat::Parquet
                | DocumentFormat::Warc => {
                    let field = (format == DocumentFormat::JsonLines).then(|| options.text_name());
                    lines::copy(reader, options.len_max, field, new_fields, out, decide)
                }
            }
        });
        copied.map_err(|source| self.copy_error(source))
    }

    fn copy_error(&self, source: io::Error) -> Error {
        match fpstore_base::Interrupted::is_in(&source) {
            true => Error::Interrupted,
            false => Error::Io(IoError { doing: "copy", path: self.name().into(), source }),
        }
    }
}

/// Copies the byte order mark, which is no part of the first record. Returns the first bytes if they
/// are none.
fn copy_mark(reader: &mut impl Read, out: &mut dyn Write) -> io::Result<Vec<u8>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let mut head = Vec::new();
    reader.take(MARK.len() as u64).read_to_end(&mut head)?;
    if head == MARK {
        out.write_all(&head)?;
        head.clear();
    }
    Ok(head)
}

/// Reports the bytes that are read to a watch.
struct Observed<'a> {
    reader: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
    told: u64,
    watch: &'a Watch,
}

impl Read for Observed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.reader.read(buffer)?;
        let taken = self.taken.load(Ordering::Relaxed);
        let news = taken - std::mem::replace(&mut self.told, taken);
        self.watch.tick(news).map_err(io::Error::other)?;
        Ok(len)
    }
}
