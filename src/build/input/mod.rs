//! Reading fingerprints and ids from files in the spellings that people have.

mod binary;
mod lines;

use std::path::Path;

use crate::error::{Error, InputPlace, Result};
use crate::fingerprint::{Fingerprint, Radix};
use crate::id::IdRef;
use crate::source;

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
///     None => Ok(builder.push_bare(record.fingerprint)),
/// })?;
/// builder.finish()?;
/// # Ok::<(), fpstore::Error>(())
/// ```
pub fn read_records(
    path: &Path,
    options: &InputOptions,
    mut take: impl FnMut(Record<'_>) -> Result<()>,
) -> Result<InputSummary> {
    let mut intake = Intake {
        name: source::name_of(path),
        doing: source::doing(path),
        skip_bad: options.skip_bad,
        summary: InputSummary::default(),
        take: &mut take,
    };
    let reader = source::open(path)?;
    match options.format {
        InputFormat::Lines => lines::read(reader, options.radix, &mut intake)?,
        InputFormat::U64Le => binary::read::<8>(reader, &mut intake)?,
        InputFormat::U64LeId => binary::read::<16>(reader, &mut intake)?,
    }
    Ok(intake.summary)
}

/// Takes records and faults on their way from an input, and knows what to do with each.
struct Intake<'a> {
    name: String,
    /// Completes the words "cannot ... it".
    doing: &'static str,
    skip_bad: bool,
    summary: InputSummary,
    take: &'a mut dyn FnMut(Record<'_>) -> Result<()>,
}

impl Intake<'_> {
    fn record(&mut self, place: InputPlace, record: Record<'_>) -> Result<()> {
        match (self.take)(record) {
            Ok(()) => {
                self.summary.record_count += 1;
                Ok(())
            }
            Err(Error::InvalidId { reason }) => self.bad(place, format!("bad id: {reason}")),
            Err(error) => Err(error),
        }
    }

    fn bad(&mut self, place: InputPlace, reason: String) -> Result<()> {
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
