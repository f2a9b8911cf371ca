//! Reading records one by one, and the summary of an input.

use std::any::Any;
use std::path::Path;

use super::InputOptions;
use super::chunk_reader::ChunkReader;
use super::layout::{ChunkPlace, RecordConsumer};
use crate::base::error::{Error, InputPlace, Result};
use fpstore_base::lines::{LineForm, Unclear};
use fpstore_base::{Fingerprint, IdRef, IoError};

/// The maximum number of bad records listed in a summary.
pub(super) const SHOWN_MAX: usize = 10;

/// Reads all records of the file at `path`, or of standard input if it is `-`, and calls `each`
/// with each record, in order. Files with names that end in `.gz` or `.zst` are decompressed.
///
/// # Errors
///
/// * [`Error::BadInput`] with the name of the input and the position of the first bad record,
///   unless the options skip bad records. If `each` returns [`Error::InvalidId`], its record counts
///   as bad; this requires the type `E` to be [`Error`].
/// * [`Error::UnclearInput`] if the columns of the lines cannot be determined.
/// * [`Error::Io`] if the input cannot be read or decompressed.
/// * Any other error that `each` returns.
///
/// # Examples
///
/// ```no_run
/// use fpstore::Builder;
/// use fpstore::input::{InputOptions, Record, read_records};
/// use std::path::Path;
///
/// let mut builder = Builder::new("pages.fps")?;
/// let options = InputOptions::default();
/// read_records(Path::new("pages.tsv.gz"), &options, |record: Record<'_>| match record.id {
///     Some(id) => builder.push(record.fingerprint, id),
///     None => builder.push_bare(record.fingerprint),
/// })?;
/// builder.finish()?;
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn read_records<E: From<Error> + 'static>(
    path: &Path,
    options: &InputOptions,
    mut each: impl FnMut(Record<'_>) -> Result<(), E>,
) -> Result<InputSummary, E> {
    read(path, options, |found| found.map_or(Ok(()), &mut each))
}

/// Like [`read_records`], but also calls `each` with each bad record, in input order; bad records
/// are counted and are not errors. Each record is passed on before the next line is read, so only
/// the first line decides about columns, and the second line if the first line is a header.
///
/// # Errors
///
/// The same as [`read_records`], except for bad records.
pub fn read_all_records<E: From<Error> + 'static>(
    path: &Path,
    options: &InputOptions,
    each: impl FnMut(Result<Record<'_>, &SkippedRecord>) -> Result<(), E>,
) -> Result<InputSummary, E> {
    read(path, &options.skip_bad(true).stream(), each)
}

fn read<E: From<Error> + 'static>(
    path: &Path,
    options: &InputOptions,
    mut each: impl FnMut(Result<Record<'_>, &SkippedRecord>) -> Result<(), E>,
) -> Result<InputSummary, E> {
    let source = options.open(path)?;
    let mut chunks = ChunkReader::new(source.reader, options);
    let mut summary = SummaryBuilder::new(source.name, source.doing, options.skip_bad);
    while let Some(chunk) = chunks.next().map_err(|fault| summary.unreadable(fault))? {
        summary.begin(&chunk.form)?;
        let mut caller = Caller { summary: &mut summary, each: &mut each, failed: None };
        let lines = options.parse(&chunk, &mut caller);
        if let Some(error) = caller.failed {
            return Err(error);
        }
        summary.add_chunk(lines, chunk.end);
    }
    Ok(summary.finish())
}

/// A consumer that passes each record to the callback of [`read_records`].
struct Caller<'a, E, F> {
    summary: &'a mut SummaryBuilder,
    each: &'a mut F,
    failed: Option<E>,
}

impl<E, F> RecordConsumer for Caller<'_, E, F>
where
    E: From<Error> + 'static,
    F: FnMut(Result<Record<'_>, &SkippedRecord>) -> Result<(), E>,
{
    fn record(
        &mut self,
        place: ChunkPlace,
        fingerprint: Fingerprint,
        id: Option<IdRef<'_>>,
    ) -> bool {
        let Err(error) = (self.each)(Ok(Record { fingerprint, id })) else {
            self.summary.add_records(1);
            return true;
        };
        if let Some(Error::InvalidId { reason }) = (&error as &dyn Any).downcast_ref() {
            return self.bad_record(place, bad_id(reason));
        }
        self.failed = Some(error);
        false
    }

    fn bad_record(&mut self, place: ChunkPlace, reason: String) -> bool {
        let bad = self.summary.add_bad(place, reason).map_err(E::from);
        self.failed = bad.and_then(|bad| (self.each)(Err(&bad))).err();
        self.failed.is_none()
    }
}

/// The reason for rejecting a record whose id cannot be stored.
pub(super) fn bad_id(reason: &str) -> String {
    format!("bad id: {reason}")
}

/// Counts the records of an input, and skips bad records or turns them into errors.
#[derive(Debug)]
pub(super) struct SummaryBuilder {
    name: String,
    /// The verb of error messages: `read` or `decompress`.
    doing: &'static str,
    skip_bad: bool,
    summary: InputSummary,
    /// The number of lines before the current chunk.
    lines: u64,
}

impl SummaryBuilder {
    pub(super) fn new(name: String, doing: &'static str, skip_bad: bool) -> Self {
        SummaryBuilder { name, doing, skip_bad, summary: InputSummary::default(), lines: 0 }
    }

    /// Stores the guessed columns in the summary. Returns an error if the guess failed.
    pub(super) fn begin(&mut self, form: &LineForm) -> Result<()> {
        match form {
            LineForm::Documented(_) | LineForm::Guessed(_) => {}
            LineForm::Columns(_, guess) => {
                if self.summary.guess.is_none() {
                    self.summary.guess.clone_from(guess);
                }
            }
            LineForm::Unclear(Unclear { line: Some(line), reason, .. }) => {
                let (name, place) = (self.name.clone(), InputPlace::Line(*line as u64));
                return Err(Error::BadInput { name, place, reason: reason.clone() });
            }
            LineForm::Unclear(unclear) => {
                let from_1 = |column: usize| column + 1;
                return Err(Error::UnclearInput {
                    name: self.name.clone(),
                    reason: unclear.reason.clone(),
                    fingerprint_column: unclear.columns.map(|(column, _)| from_1(column)),
                    id_column: unclear.columns.and_then(|(_, id)| id.map(from_1)),
                    radix: unclear.radix,
                    width: unclear.width,
                });
            }
        }
        Ok(())
    }

    pub(super) fn add_records(&mut self, count: u64) {
        self.summary.record_count += count;
    }

    /// Counts a bad record and returns it. Returns an error if bad records are not skipped.
    pub(super) fn add_bad(&mut self, place: ChunkPlace, reason: String) -> Result<SkippedRecord> {
        let place = match place {
            ChunkPlace::Line(line) => InputPlace::Line(self.lines + line),
            ChunkPlace::Byte(offset) => InputPlace::Byte(offset),
        };
        if !self.skip_bad {
            return Err(Error::BadInput { name: self.name.clone(), place, reason });
        }
        self.summary.skipped_count += 1;
        let skipped = SkippedRecord { place, reason };
        if self.summary.skipped.len() < SHOWN_MAX {
            self.summary.skipped.push(skipped.clone());
        }
        Ok(skipped)
    }

    /// Counts skipped records that are not listed in the summary.
    pub(super) fn add_skipped(&mut self, count: u64) {
        self.summary.skipped_count += count;
    }

    /// Adds the lines of a chunk that ends at `offset` of the input.
    pub(super) fn add_chunk(&mut self, lines: u64, offset: u64) {
        self.lines += lines;
        self.summary.byte_len = offset;
    }

    pub(super) fn finish(self) -> InputSummary {
        self.summary
    }

    pub(super) fn unreadable(&self, source: std::io::Error) -> Error {
        IoError { doing: self.doing, path: self.name.clone().into(), source }.into()
    }
}

/// A record of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The id, if the record has one.
    pub id: Option<IdRef<'a>>,
}

/// A bad record that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRecord {
    /// The position of the record in the input.
    pub place: InputPlace,
    /// The reason for rejecting the record.
    pub reason: String,
}

/// Counts of the records read from an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputSummary {
    /// The length of the input in bytes, after decompression.
    pub byte_len: u64,
    /// The number of good records.
    pub record_count: u64,
    /// The number of skipped bad records.
    pub skipped_count: u64,
    /// The first bad records, at most ten.
    pub skipped: Vec<SkippedRecord>,
    /// A sentence about the guessed columns, if columns were guessed, such as `column 2 is read as
    /// the fingerprint and column 1 as the id`.
    pub guess: Option<String>,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::writing::input::InputFormat;

    pub(in crate::writing::input) fn read_all(
        bytes: &[u8],
        skip_bad: bool,
    ) -> (Result<()>, Vec<u64>, InputSummary) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let options = InputOptions::default().skip_bad(skip_bad);
        let mut values = Vec::new();
        let read = read_records(file.path(), &options, |record| {
            values.push(record.fingerprint.value());
            Ok(())
        });
        let summary = read.as_ref().map(Clone::clone).unwrap_or_default();
        (read.map(|_| ()), values, summary)
    }

    #[derive(Debug)]
    enum Own {
        Store(Error),
        Mine,
    }

    impl From<Error> for Own {
        fn from(error: Error) -> Self {
            Own::Store(error)
        }
    }

    /// If the callback rejects an id, its record is bad; any other error ends the reading.
    #[test]
    fn the_error_of_the_callback_decides_about_its_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1\n2\n3\n").unwrap();
        let skip = InputOptions::default().skip_bad(true);
        let refuse = |record: Record<'_>| match record.fingerprint.value() {
            2 => Err(Error::InvalidId { reason: "too odd".into() }),
            _ => Ok(()),
        };
        let summary = read_records(file.path(), &skip, refuse).unwrap();
        assert_eq!((summary.record_count, summary.skipped_count), (2, 1));
        assert_eq!(summary.skipped[0].place, InputPlace::Line(2));
        assert_eq!(summary.skipped[0].reason, "bad id: too odd");
        let strict = read_records(file.path(), &InputOptions::default(), refuse);
        assert!(matches!(strict, Err(Error::BadInput { place: InputPlace::Line(2), .. })));
        let ended = read_records(file.path(), &skip, |_| Err(Own::Mine));
        assert!(matches!(ended, Err(Own::Mine)));
        let missing = read_records(Path::new("/none/such"), &skip, |_| Ok::<(), Own>(()));
        assert!(matches!(missing, Err(Own::Store(Error::Io { .. }))));
    }

    #[test]
    fn bytes_after_the_last_binary_record_are_a_bad_record() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [7; 2 * 16 + 5]).unwrap();
        let options = InputOptions::default().format(InputFormat::U64LeId);
        let mut count = 0;
        let read = read_records(file.path(), &options.skip_bad(true), |record| {
            count += u32::from(record.id.is_some());
            Ok::<(), Error>(())
        });
        let skipped = read.unwrap().skipped;
        assert_eq!((count, skipped[0].place), (2, InputPlace::Byte(32)));
    }
}
