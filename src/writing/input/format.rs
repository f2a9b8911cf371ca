//! The formats of inputs, and the one list that says how each is read.

use std::path::Path;

use super::binary::FixedRecords;
use super::chunk::Chunk;
use super::layout::{Layout, RecordConsumer};
use super::lines::Lines;
use crate::base::error::Result;
use fpstore_base::Radix;
use fpstore_base::source::Source;

/// How records are laid out in an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputFormat {
    /// One record a line: a fingerprint, then optionally a tab, comma, colon or spaces and the id.
    /// Blank lines and lines that start with `#` are no records. CR LF ends a line as LF does.
    #[default]
    Lines,
    /// 8 bytes a record: the fingerprint, little-endian.
    U64Le,
    /// 16 bytes a record: the fingerprint, then the id, both little-endian.
    U64LeId,
}

fpstore_base::choices!(InputFormat {
    Lines = "lines": "One line for each record: fingerprint and id",
    U64Le = "u64le": "8 bytes for each record, little-endian",
    U64LeId = "u64le-id": "16 bytes for each record: fingerprint and id, little-endian",
});

/// How to read an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputOptions {
    format: InputFormat,
    radix: Radix,
    pub(super) skip_bad: bool,
}

impl InputOptions {
    /// Sets the format. The default is lines.
    #[must_use]
    pub fn format(mut self, format: InputFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets how fingerprints are spelled in lines. The default is hexadecimal.
    #[must_use]
    pub fn radix(mut self, radix: Radix) -> Self {
        self.radix = radix;
        self
    }

    /// Sets whether bad records are counted and skipped. By default the first one is an error.
    #[must_use]
    pub fn skip_bad(mut self, skip_bad: bool) -> Self {
        self.skip_bad = skip_bad;
        self
    }
}

/// Runs an expression with the [`Layout`] of a format: the list of all formats.
macro_rules! with_layout {
    ($options:expr, |$layout:ident| $action:expr) => {{
        let options: &InputOptions = $options;
        match options.format {
            InputFormat::Lines => {
                let $layout = Lines { radix: options.radix };
                $action
            }
            InputFormat::U64Le => {
                let $layout = FixedRecords::<8>;
                $action
            }
            InputFormat::U64LeId => {
                let $layout = FixedRecords::<16>;
                $action
            }
        }
    }};
}

impl InputOptions {
    /// Opens an input; compressed text needs no name that says so.
    pub(super) fn open(&self, path: &Path) -> Result<Source> {
        Ok(match self.format {
            InputFormat::Lines => Source::open(path)?,
            InputFormat::U64Le | InputFormat::U64LeId => Source::open_binary(path)?,
        })
    }

    /// As [`Layout::whole_len`].
    pub(super) fn whole_len(&self, bytes: &[u8], searched_len: usize) -> usize {
        with_layout!(self, |layout| layout.whole_len(bytes, searched_len))
    }

    /// As [`Layout::parse`].
    pub(super) fn parse(&self, chunk: &Chunk, consumer: &mut impl RecordConsumer) -> u64 {
        with_layout!(self, |layout| layout.parse(chunk, consumer))
    }
}
