//! What becomes of each record.

use std::io;
use std::ops::Range;

use fpstore_base::Id;

/// A field or column that is added to records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewField {
    /// Its name, which no field has yet.
    pub name: String,
    /// What it holds.
    pub kind: NewFieldKind,
}

/// What a [`NewField`] holds; it decides the type of a column in Parquet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFieldKind {
    /// Ids. A column of them is one of texts.
    Id,
    /// Whole numbers.
    Count,
}

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFate {
    /// It is copied.
    Keep,
    /// It is left out.
    Drop,
    /// It is copied with the new fields, which have these values in their order; `None` is null.
    Mark(Vec<Option<Id>>),
    /// It is copied with its text without these bytes, which are ascending and apart; see
    /// [`DocumentFile::check_cut`](crate::DocumentFile::check_cut).
    Cut(Vec<Range<usize>>),
}

/// Says what becomes of the record of a number.
pub type DecideFate<'a> = dyn FnMut(u64) -> io::Result<RecordFate> + 'a;
