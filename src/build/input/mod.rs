//! Reading fingerprints and ids from files in the spellings that people have.

mod batches;
mod binary;
mod chunk;
mod estimate;
mod lines;

use std::path::Path;

use crate::error::{Error, InputPlace, Result};
use crate::fingerprint::{Fingerprint, Radix};
use crate::id::IdRef;
use crate::source::Source;
use chunk::{Chunk, Chunker};

pub(super) use batches::read_batches;
pub use estimate::estimate_input;

/// How many bad records a summary shows.
const SHOWN_MAX: usize = 10;

/// How records are laid out in an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputFormat {
    /// A line each: a fingerprint, then optionally a tab, comma, colon or spaces and the id.
    /// Blank lines and lines that start with `#` do not count; CR LF ends a line as LF does.
    #[default]
    Lines,
    /// 8 bytes each: the fingerprint, little-endian.
    U64Le,
    /// 16 bytes each: the fingerprint, then the id, both little-endian.
    U64LeId,
}

/// How to read an input.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct InputOptions {
    /// The layout.
    pub format: InputFormat,
    /// How fingerprints are spelled in lines.
    pub radix: Radix,
    /// Whether bad records are counted and passed over; otherwise the first one is an error.
    pub skip_bad: bool,
}

impl InputOptions {
    /// Sets the layout.
    #[must_use]
    pub fn format(mut self, format: InputFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets how fingerprints are spelled in lines.
    #[must_use]
    pub fn radix(mut self, radix: Radix) -> Self {
        self.radix = radix;
        self
    }

    /// Sets whether bad records are passed over.
    #[must_use]
    pub fn skip_bad(mut self, skip_bad: bool) -> Self {
        self.skip_bad = skip_bad;
        self
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

/// A bad record that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedRecord {
    /// Where it stands.
    pub place: InputPlace,
    /// What is wrong with it.
    pub reason: String,
}

/// What came out of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputSummary {
    /// Bytes read, after decompression.
    pub byte_len: u64,
    /// Good records.
    pub record_count: u64,
    /// Bad records that were passed over.
    pub skipped_count: u64,
    /// The first ten of them.
    pub skipped: Vec<SkippedRecord>,
}

/// Reads all records of the file at `path`, or of standard input if it is `-`, and hands them
/// to `take` in order. Names that end in `.gz` or `.zst` are decompressed.
///
/// # Errors
///
/// * [`Error::BadInput`] with name and place for the first bad record, unless they are passed
///   over. An [`Error::InvalidId`] from `take` makes its record a bad one.
/// * [`Error::Io`] if the input cannot be read or decompressed.
/// * Any other error from `take`.
///
/// # Examples
///
/// ```no_run
/// use fpstore::{Builder, InputOptions, Record, read_records};
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
pub fn read_records(
    path: &Path,
    options: &InputOptions,
    mut take: impl FnMut(Record<'_>) -> Result<()>,
) -> Result<InputSummary> {
    let source = Source::open(path)?;
    let mut chunker = Chunker::new(source.reader, options.format);
    let mut intake = Intake::new(source.name, source.doing, options.skip_bad);
    while let Some(chunk) = chunker.next().map_err(|fault| intake.unreadable(fault))? {
        let mut sink = RecordSink { intake: &mut intake, take: &mut take, failed: None };
        let lines = parse(&chunk, options, &mut sink);
        if let Some(error) = sink.failed {
            return Err(error);
        }
        intake.lines += lines;
        intake.summary.byte_len = chunker.offset();
    }
    Ok(intake.summary)
}

/// Parses a chunk into a sink: how many lines it had.
fn parse(chunk: &Chunk, options: &InputOptions, sink: &mut impl Sink) -> u64 {
    match options.format {
        InputFormat::Lines => lines::parse(chunk, options.radix, sink).1,
        InputFormat::U64Le => {
            binary::parse::<8>(chunk, sink);
            0
        }
        InputFormat::U64LeId => {
            binary::parse::<16>(chunk, sink);
            0
        }
    }
}

/// Where in a chunk a record stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// The line of the chunk, counted from 1.
    Line(u64),
    /// The byte of the input.
    Byte(u64),
}

impl Place {
    /// The place in the input, if so many lines come before the chunk.
    fn after(self, lines: u64) -> InputPlace {
        match self {
            Place::Line(line) => InputPlace::Line(lines + line),
            Place::Byte(offset) => InputPlace::Byte(offset),
        }
    }
}

/// Takes what a parser finds; each call says whether to go on.
trait Sink {
    fn record(&mut self, place: Place, fingerprint: Fingerprint, id: Option<IdRef<'_>>) -> bool;

    fn bad(&mut self, place: Place, reason: String) -> bool;
}

/// Keeps the summary of an input, and knows what to do with bad records.
#[derive(Debug)]
struct Intake {
    name: String,
    /// Completes the words "cannot ... it".
    doing: &'static str,
    skip_bad: bool,
    summary: InputSummary,
    /// The lines before the chunk at hand.
    lines: u64,
}

impl Intake {
    fn new(name: String, doing: &'static str, skip_bad: bool) -> Self {
        Intake { name, doing, skip_bad, summary: InputSummary::default(), lines: 0 }
    }

    fn bad(&mut self, place: Place, reason: String) -> Result<()> {
        let place = place.after(self.lines);
        if !self.skip_bad {
            return Err(Error::BadInput { name: self.name.clone(), place, reason });
        }
        self.summary.skipped_count += 1;
        if self.summary.skipped.len() < SHOWN_MAX {
            self.summary.skipped.push(SkippedRecord { place, reason });
        }
        Ok(())
    }

    fn unreadable(&self, source: std::io::Error) -> Error {
        Error::Io { doing: self.doing, path: self.name.clone().into(), source }
    }
}

/// Hands records on as they are found.
struct RecordSink<'a, F> {
    intake: &'a mut Intake,
    take: &'a mut F,
    failed: Option<Error>,
}

impl<F: FnMut(Record<'_>) -> Result<()>> Sink for RecordSink<'_, F> {
    fn record(&mut self, place: Place, fingerprint: Fingerprint, id: Option<IdRef<'_>>) -> bool {
        match (self.take)(Record { fingerprint, id }) {
            Ok(()) => {
                self.intake.summary.record_count += 1;
                true
            }
            Err(Error::InvalidId { reason }) => self.bad(place, format!("bad id: {reason}")),
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }

    fn bad(&mut self, place: Place, reason: String) -> bool {
        self.failed = self.intake.bad(place, reason).err();
        self.failed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn read_all(bytes: &[u8], skip_bad: bool) -> (Result<()>, Vec<u64>, InputSummary) {
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
}
