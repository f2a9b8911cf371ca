//! Copies a file of documents without some of its records, with a new field in each record, or with
//! parts of its texts cut out.
//!
//! Kept records are copied byte for byte, with the bytes between them: empty lines, a header, a
//! byte order mark. Reading and copying iterate over records with the same code, so that a record
//! has the same number in both, and the copier verifies it: each decision contains the digest of
//! its record ([`DocumentPlace::digest`](crate::DocumentPlace::digest)), and a record with another
//! digest is refused. Bad records are copied unchanged.

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
use super::decode::{self, KnownEncoding, TextEncoding};
use super::files::DocumentFile;
use super::formats::{DocumentFormat, TextFormat};
use super::guard::guarded;
use super::options::DocumentOptions;
use super::paths;
use super::reading::unreadable;
use super::records::Lines;
use crate::error::{Error, Result};
use fate::{Fates, OtherRecord};
use fpstore_base::source::{self, Source};
use fpstore_base::watch::Watch;
use fpstore_base::{InputPlace, IoError};

pub use fate::{Decided, NewField, NewFieldKind, RecordDecisions, RecordFate};

impl DocumentFile<'_> {
    /// Whether the records of this file can be copied unchanged, and with `is_marked` also whether
    /// they can get a new field.
    ///
    /// # Errors
    ///
    /// The same as [`DocumentFile::check_copy_format`], and [`Error::BadFile`] if the encoding can
    /// contain newline bytes that do not end a line.
    pub fn check_copy(&self, options: &DocumentOptions, is_marked: bool) -> Result<()> {
        let bad = |reason: String| Error::BadFile { name: self.name().into(), reason };
        self.check_copy_format(is_marked)?;
        if matches!(self.format(), DocumentFormat::Parquet | DocumentFormat::Warc) {
            return Ok(());
        }
        let begun = self.guarded(|| {
            let reader = BufReader::new(Source::open(self.path())?.reader);
            let begun = decode::begin(reader, options.text_encoding(), false);
            begun.map_err(|fault| unreadable(self.input, fault))
        });
        decode::check_line_ends(begun?.encoding).map_err(bad)
    }

    /// The part of [`DocumentFile::check_copy`] that does not depend on the content of the file.
    ///
    /// # Errors
    ///
    /// [`Error::BadFile`] if the file is a single document, or its records cannot get a field.
    pub fn check_copy_format(&self, is_marked: bool) -> Result<()> {
        let reason = match (self.format(), is_marked) {
            (DocumentFormat::Plain | DocumentFormat::Html, false) => {
                "it is one document, and has no records to copy"
            }
            (DocumentFormat::Plain | DocumentFormat::Html | DocumentFormat::Lines, true) => {
                "its documents have no fields, so a field cannot be added"
            }
            (DocumentFormat::Warc, true) => "a field cannot be added to records of a web archive",
            (DocumentFormat::Parquet | DocumentFormat::Warc | DocumentFormat::Lines, _)
            | (DocumentFormat::JsonLines | DocumentFormat::Features, _)
            | (DocumentFormat::Csv | DocumentFormat::Tsv, _) => return Ok(()),
        };
        Err(Error::BadFile { name: self.name().into(), reason: reason.into() })
    }

    /// Whether parts of the texts can be cut out while the records are copied: each text must be a
    /// single field of plain text, as it is read.
    ///
    /// # Errors
    ///
    /// [`Error::BadFile`] if parts cannot be cut out, and the errors of
    /// [`DocumentFile::check_copy`].
    pub fn check_cut(&self, options: &DocumentOptions) -> Result<()> {
        self.check_cut_format(options)?;
        self.check_copy(options, false)
    }

    /// The part of [`DocumentFile::check_cut`] that does not depend on the content of the file.
    ///
    /// # Errors
    ///
    /// [`Error::BadFile`] if parts of a text cannot be cut out.
    pub fn check_cut_format(&self, options: &DocumentOptions) -> Result<()> {
        let bad = |reason: &str| Error::BadFile { name: self.name().into(), reason: reason.into() };
        if self.format() == DocumentFormat::Warc {
            return Err(bad(
                "a web archive contains whole HTTP responses, so passages cannot be cut \
                            out of them",
            ));
        }
        if options.text_format != TextFormat::Plain {
            return Err(bad("its texts are markup, so passages cannot be cut out of them"));
        }
        if paths::has_array(self.completed(options).text_name()) {
            return Err(bad("its texts are joined from arrays, so passages cannot be cut out of \
                            them"));
        }
        if options.text_encoding() != TextEncoding::UTF_8 {
            return Err(bad("its encoding is not UTF-8, and texts can only be written in UTF-8"));
        }
        self.check_copy_format(false)
    }

    /// Copies the file to `out`, decompressed, with the `decisions` about records that were read;
    /// `other` is the fate of all other records. New fields are added to records with
    /// [`RecordFate::Mark`]; in tables with new fields all kept records must have this fate. `out`
    /// is flushed after each record of a web archive, so that each can be compressed separately.
    /// `watch` counts the bytes of the file before decompression.
    ///
    /// # Errors
    ///
    /// * [`Error::Changed`] if a record differs from the record read before.
    /// * [`Error::Io`] if the file cannot be read or `out` cannot be written, and from `decisions`.
    /// * [`Error::BadFile`] if the file is broken, or a record cannot get the field.
    /// * [`Error::Interrupted`] if the observer ends the work.
    pub fn copy_records(
        &self,
        options: &DocumentOptions,
        new_fields: &[NewField],
        watch: &Watch,
        out: &mut (dyn Write + Send),
        (decisions, other): (&mut RecordDecisions<'_>, &RecordFate),
    ) -> Result<()> {
        let options = &self.completed(options);
        let at = match self.format() {
            DocumentFormat::Parquet => InputPlace::Row,
            DocumentFormat::Warc => InputPlace::Record,
            _ => InputPlace::Line,
        };
        let mut fates = Fates::new(decisions, other, at);
        self.guarded(|| {
            self.copy_as(options, new_fields, watch, out, &mut fates)?;
            fates.end().map_err(|source| self.copy_error(source))
        })
    }

    /// Runs a function in which external parsers may panic; a panic becomes an error.
    fn guarded<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(act)
            .unwrap_or_else(|reason| Err(Error::BadFile { name: self.name().into(), reason }))
    }

    fn copy_as(
        &self,
        options: &DocumentOptions,
        new_fields: &[NewField],
        watch: &Watch,
        out: &mut (dyn Write + Send),
        fates: &mut Fates<'_>,
    ) -> Result<()> {
        let format = self.format();
        #[cfg(feature = "parquet")]
        if format == DocumentFormat::Parquet {
            return parquet::copy(self, options.names(), new_fields, watch, out, fates);
        }
        let observed = |source: Source| {
            let observed = Observed { reader: source.reader, taken: source.taken, told: 0, watch };
            BufReader::with_capacity(source::BUFFER_LEN, observed)
        };
        let failed = |source| self.copy_error(source);
        if format == DocumentFormat::Warc {
            let (skip_bad, members) = (options.skip_bad, Arc::default());
            let source = archive::open(self.path(), skip_bad, &members)?;
            let archive = Archive::new(observed(source), skip_bad, members);
            return warc::copy(archive, options.len_max, out, fates).map_err(failed);
        }
        let reader = observed(Source::open(self.path())?);
        let begun = decode::begin(reader, options.text_encoding(), false).map_err(failed)?;
        let KnownEncoding { encoding, mark, rest } = begun;
        // Checked here, too: for files found in folders, earlier checks ignore this fault.
        decode::check_line_ends(encoding)
            .map_err(|reason| Error::BadFile { name: self.name().into(), reason })?;
        // The byte order mark is not part of the first record.
        out.write_all(&mark).map_err(failed)?;
        // When records were read, the limit applied to their length in UTF-8; in other encodings
        // a character has at most twice as many bytes.
        let factor = if encoding == encoding_rs::UTF_8 { 1 } else { 2 };
        let len_max = options.len_max.saturating_mul(factor);
        let copied = match format {
            DocumentFormat::Csv | DocumentFormat::Tsv => {
                let is_tsv = format == DocumentFormat::Tsv;
                let options = &options.clone().max_document(len_max);
                rows::copy_rows(rest, encoding, is_tsv, options, new_fields, out, fates)
            }
            // Records are lines. Formats without lines were copied above, or refused by
            // `check_copy`.
            DocumentFormat::JsonLines
            | DocumentFormat::Features
            | DocumentFormat::Lines
            | DocumentFormat::Plain
            | DocumentFormat::Html
            | DocumentFormat::Parquet
            | DocumentFormat::Warc => {
                let field = (format == DocumentFormat::JsonLines).then(|| options.text_name());
                let lines = Lines::new(rest, len_max);
                lines::copy(lines, encoding, field, new_fields, out, fates)
            }
        };
        copied.map_err(failed)
    }

    fn copy_error(&self, source: io::Error) -> Error {
        if fpstore_base::Interrupted::is_in(&source) {
            return Error::Interrupted;
        }
        match source.get_ref().and_then(|inner| inner.downcast_ref::<OtherRecord>()) {
            Some(other) => Error::Changed { name: self.name().into(), reason: other.to_string() },
            None => Error::Io(IoError { doing: "copy", path: self.name().into(), source }),
        }
    }
}

/// A reader that reports the bytes read to a watch.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{DocumentFiles, DocumentPlace};
    use super::*;
    use fpstore_base::watch::Phase;

    /// Reads a file, and returns the places of its documents.
    fn places(path: &Path, options: &DocumentOptions) -> Vec<DocumentPlace> {
        let files = DocumentFiles::find(&[path.into()], options).unwrap();
        let mut places = Vec::new();
        let take = |place, _: fpstore_base::IdRef<'_>, _: &str| {
            places.push(place);
            Ok::<_, Error>(())
        };
        files.read_texts(options, None, take).unwrap();
        places
    }

    /// Copies a file without the documents `dropped`, which are indexes of `places`.
    fn copy(
        path: &Path,
        options: &DocumentOptions,
        places: &[DocumentPlace],
        dropped: &[usize],
    ) -> Result<Vec<u8>> {
        let files = DocumentFiles::find(&[path.into()], options).unwrap();
        let mut decisions = places.iter().enumerate().map(|(at, place)| {
            let (record, digest) = (place.record(), place.digest);
            let fate = if dropped.contains(&at) { RecordFate::Drop } else { RecordFate::Keep };
            Ok(Decided { record, digest, fate })
        });
        let (mut out, watch) = (Vec::new(), Watch::new(None, Phase::Copy, None));
        let fates = (&mut decisions as &mut RecordDecisions<'_>, &RecordFate::Keep);
        let file = files.get(0, options).unwrap();
        file.check_copy(options, false)?;
        file.copy_records(options, &[], &watch, &mut out, fates).map(|()| out)
    }

    const ARCHIVE: &str = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n";

    fn conversion(name: &str, text: &str) -> String {
        format!(
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {name}\r\nContent-Type: \
             text/plain\r\nContent-Length: {}\r\n\r\n{text}\r\n\r\n",
            text.len()
        )
    }

    /// For each format and encoding: a name, the encoding, and the pieces of a file. Each piece
    /// except the first is a document.
    fn files() -> Vec<(&'static str, TextEncoding, Vec<Vec<u8>>)> {
        let cr = "\r".repeat(200);
        let gbk = TextEncoding::named("gbk").unwrap();
        let pieces = |pieces: &[&str]| -> Vec<Vec<u8>> {
            pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect()
        };
        let json = [
            "\u{feff}\n \n".into(),
            format!("{{\"id\":1,\"text\":\"one\"}}{cr}\n"),
            "{\"id\":2,\"text\":\"two\"}\r\n\n".into(),
            format!("{{\"id\":3,\"text\":\"three\"}}{cr}"),
        ];
        let json: Vec<&str> = json.iter().map(String::as_str).collect();
        // The second byte of the character `\x81\x7d` is the byte of a brace.
        let of_gbk = [
            &b""[..],
            b"{\"id\":1,\"text\":\"\xd2\xbb \x81\x7d\"}\n",
            b"{\"id\":2,\"text\":\"\xb6\xfe\"}\n",
        ];
        let archive = ["1", "2", "3"].map(|name| conversion(name, "a text"));
        let archive = [ARCHIVE, &archive[0], &archive[1], &archive[2]];
        vec![
            ("a.jsonl", TextEncoding::UTF_8, pieces(&json)),
            ("b.jsonl", gbk, of_gbk.map(<[u8]>::to_vec).to_vec()),
            ("b.csv", gbk, [&b"id,text\n"[..], b"1,\"\xd2\xbb\"\n"].map(<[u8]>::to_vec).to_vec()),
            (
                "c.csv",
                TextEncoding::UTF_8,
                pieces(&["id,text\r\n", "1,\"one\n\r\"\r\n", "2,two\r\n", "3,\"th\"\"ree\""]),
            ),
            ("d.tsv", TextEncoding::UTF_8, pieces(&["text\tid\n\n", "\"one\t1\n", "two\t2\r"])),
            ("e.warc", TextEncoding::UTF_8, pieces(&archive)),
        ]
    }

    #[test]
    fn records_are_recognised_in_all_formats_and_encodings() {
        let folder = tempfile::tempdir().unwrap();
        for (name, encoding, pieces) in files() {
            let path = folder.path().join(name);
            std::fs::write(&path, pieces.concat()).unwrap();
            let options = DocumentOptions::default().encoding(encoding).max_document(150);
            let places = places(&path, &options);
            assert_eq!(places.len(), pieces.len() - 1, "{name}");
            assert!(places.iter().all(|place| place.digest.is_some()), "{name}");
            for bits in 0..1_usize << places.len() {
                let dropped: Vec<usize> =
                    (0..places.len()).filter(|at| bits >> at & 1 > 0).collect();
                let kept = (0..pieces.len()).filter(|at| *at == 0 || !dropped.contains(&(at - 1)));
                let mut expected: Vec<u8> = kept.flat_map(|at| pieces[at].clone()).collect();
                if name == "a.jsonl" && dropped.contains(&1) {
                    // The empty line after a record is not part of it.
                    let at = if dropped.contains(&0) { pieces[0].len() } else { expected.len() };
                    let at = if dropped.contains(&0) { at } else { pieces[..2].concat().len() };
                    expected.insert(at, b'\n');
                }
                let found = copy(&path, &options, &places, &dropped).unwrap();
                assert_eq!(found, expected, "{name} without {dropped:?}");
            }
        }
    }

    #[test]
    fn a_record_that_is_not_the_one_that_was_read_is_refused_wherever_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        for (name, encoding, pieces) in files() {
            let path = folder.path().join(name);
            let options = DocumentOptions::default().encoding(encoding).max_document(150);
            std::fs::write(&path, pieces.concat()).unwrap();
            let places = places(&path, &options);
            for (at, place) in places.iter().enumerate() {
                let mut changed = pieces.clone();
                let is_id = |byte: &u8| byte.is_ascii_digit();
                // Changes the first digit, but in archives the digit in the URI: the first digit is
                // part of the version.
                let digit = match name {
                    "e.warc" => {
                        changed[at + 1].windows(5).position(|it| it == b"URI: ").unwrap() + 5
                    }
                    _ => changed[at + 1].iter().position(is_id).unwrap(),
                };
                changed[at + 1][digit] = b'9';
                std::fs::write(&path, changed.concat()).unwrap();
                for dropped in [&[][..], &[at]] {
                    let error = copy(&path, &options, &places, dropped).unwrap_err();
                    let told = fpstore_base::chain(&error);
                    let number = format!(" {} differs from the record read before", place.record());
                    assert!(told.contains(&number) && told.contains(name), "{told}");
                }
            }
            // The last record is missing, as in a truncated file.
            std::fs::write(&path, pieces[..pieces.len() - 1].concat()).unwrap();
            let error = copy(&path, &options, &places, &[]).unwrap_err();
            assert!(fpstore_base::chain(&error).contains("differs from the record"), "{error}");
        }
    }
}
