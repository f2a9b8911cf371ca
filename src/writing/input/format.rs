//! The formats of inputs, and the only lists of the layout of each format.

use std::path::Path;

use super::layout::{Chunk, Narrow, RecordConsumer, parse_fixed};
use super::lines::{self, parse_lines};
use crate::base::error::{Error, Result};
use fpstore_base::lines::{GuessSettings, LineForm, decide};
use fpstore_base::source::Source;
use fpstore_base::{Radix, Width, setters};

fpstore_base::choices! {
    /// The layout of records in an input.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum InputFormat {
        /// One record per line: a fingerprint, then optionally a tab, comma, colon or spaces and
        /// the id. Blank lines and lines that start with `#` are skipped. CR LF ends a line like
        /// LF.
        ///
        /// Unless [`InputOptions::exact`] is set, tables with other columns or a header are read,
        /// too. If three quarters of the values of a column have as many digits as a full
        /// fingerprint, it is the column of fingerprints and the other one the column of ids. A
        /// column of shorter numbers next to another column contains ids.
        /// [`InputSummary::guess`](super::InputSummary::guess) names the chosen columns.
        #[default]
        Lines = "lines": "One line for each record: fingerprint and id",
        U64Le = "u64le": "8 bytes for each record, little-endian",
        U64LeId = "u64le-id": "16 bytes for each record: fingerprint and id, little-endian",
        /// 4 bytes per record: the fingerprint, little-endian. Requires a
        /// [width](InputOptions::width) of at most 32 bits.
        U32Le = "u32le": "4 bytes for each record, little-endian; with --bits 32",
        /// 12 bytes per record: 4 for the fingerprint, then 8 for the id, both little-endian.
        /// Requires a width of at most 32 bits.
        U32LeId = "u32le-id": "4 bytes of fingerprint and 8 of id, little-endian; with --bits 32",
    }
}

/// How to read an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputOptions {
    format: InputFormat,
    radix: Option<Radix>,
    columns: Option<(usize, Option<usize>)>,
    exact: bool,
    is_stream: bool,
    width: Width,
    pub(super) skip_bad: bool,
}

impl InputOptions {
    setters! {
        /// Sets the format. The default is lines.
        format: InputFormat,
        /// Sets the radix of fingerprints in lines. By default they are hexadecimal, or decimal in
        /// lines that cannot be hexadecimal.
        radix: impl Into<Option<Radix>>,
        /// Sets whether all lines start with the fingerprint, as documented for
        /// [`InputFormat::Lines`]. Then no columns are guessed.
        exact: bool,
        /// Sets the width of the fingerprints. A value with more bits is a bad record. Negative
        /// numbers in signed decimal have this width, like a 32-bit `INTEGER` of a database. The
        /// default is 64 bits; [`Builder::read`](crate::Builder::read) and the writer use the width
        /// of the recipe.
        width: Width,
        /// Sets whether bad records are counted and skipped. By default the first bad record is an
        /// error.
        skip_bad: bool,
    }

    /// Sets the columns of the fingerprint and the id, counted from 1. Without `id` the records
    /// have no ids. Columns are separated by tabs, semicolons or commas. A first line with a name
    /// in place of the fingerprint is a header.
    #[must_use]
    pub fn columns(mut self, fingerprint: usize, id: impl Into<Option<usize>>) -> Self {
        let from_0 = |column: usize| column.saturating_sub(1);
        self.columns = Some((from_0(fingerprint), id.into().map(from_0)));
        self
    }
}

impl InputOptions {
    /// Whether bad records are counted and skipped.
    pub fn skips_bad(&self) -> bool {
        self.skip_bad
    }

    /// Makes the reader decide about columns from the first line only, for inputs read line by
    /// line.
    pub(super) fn stream(mut self) -> Self {
        self.is_stream = true;
        self
    }

    /// Opens an input. Compressed data is recognised by its content, not by the file extension.
    pub(super) fn open(&self, path: &Path) -> Result<Source> {
        Ok(match self.format {
            InputFormat::Lines => Source::open(path)?,
            InputFormat::U32Le | InputFormat::U32LeId if self.width.bits() > 32 => {
                let reason = format!(
                    "{} has values of 32 bits, expected fingerprints of {}: declare the width of \
                     the store with --bits 32",
                    self.format, self.width
                );
                return Err(Error::InvalidOptions { reason });
            }
            _ => Source::open_binary(path)?,
        })
    }

    /// The form of the lines of an input; `None` if more bytes are needed to decide.
    pub(super) fn line_form(&self, bytes: &[u8], is_whole: bool) -> Option<LineForm> {
        if self.format != InputFormat::Lines {
            return Some(LineForm::default());
        }
        let InputOptions { radix, columns, exact: is_exact, is_stream, width, skip_bad, .. } =
            *self;
        decide(
            bytes,
            is_whole,
            &GuessSettings { radix, columns, skip_bad, is_exact, is_stream, width },
        )
    }

    /// The number of bytes at the start of `bytes` that consist of whole records. The caller
    /// guarantees that no record ends in the first `searched_len` bytes.
    pub(super) fn whole_len(&self, bytes: &[u8], searched_len: usize) -> usize {
        let record_len = match self.format {
            InputFormat::Lines => return lines::whole_len(bytes, searched_len),
            InputFormat::U64Le => 8,
            InputFormat::U64LeId => 16,
            InputFormat::U32Le => 4,
            InputFormat::U32LeId => 12,
        };
        bytes.len() / record_len * record_len
    }

    /// Passes each record of a chunk to the consumer until it stops. Returns the number of parsed
    /// lines, 0 in a format without lines.
    pub(super) fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        if self.width == Width::FULL {
            return self.parse_any_width(chunk, consumer);
        }
        let radix = self.radix.unwrap_or_default();
        self.parse_any_width(chunk, &mut Narrow { consumer, width: self.width, radix })
    }

    /// Like [`InputOptions::parse`], but accepts fingerprints of any width.
    fn parse_any_width(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        match self.format {
            InputFormat::Lines => parse_lines(chunk, consumer),
            InputFormat::U64Le => parse_fixed::<8, 8>(chunk, consumer),
            InputFormat::U64LeId => parse_fixed::<16, 8>(chunk, consumer),
            InputFormat::U32Le => parse_fixed::<4, 4>(chunk, consumer),
            InputFormat::U32LeId => parse_fixed::<12, 4>(chunk, consumer),
        }
    }
}
