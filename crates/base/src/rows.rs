//! The row: an answer with its columns and cells, which can be printed as lines, CSV, JSON or Parquet.

use crate::{HexFingerprint, IdRef};

/// A list of columns, each with its name and kind.
#[macro_export]
macro_rules! columns {
    ($($name:ident: $kind:ident),+ $(,)?) => {
        &[$($crate::rows::Column { name: stringify!($name), kind: $crate::rows::Kind::$kind }),+]
    };
}

/// Implements [`Row`] for an answer with exactly one line: each column with its kind and its cell.
#[macro_export]
macro_rules! one_line_row {
    ($row:ty, $table:literal, |$this:ident| $($name:ident: $kind:ident = $cell:expr),+ $(,)?) => {
        impl $crate::rows::Row for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [$crate::rows::Column] = $crate::columns!($($name: $kind),+);

            fn lines<E>(
                &self,
                mut each: impl FnMut(&[$crate::rows::Cell<'_>]) -> Result<(), E>,
            ) -> Result<(), E> {
                let $this = self;
                each(&[$($cell),+])
            }
        }
    };
}

/// An answer that can be printed as lines, as a table and as JSON.
pub trait Row {
    /// The name of a table that consists of such rows.
    const TABLE: &'static str;

    /// The columns of such rows, in order.
    const COLUMNS: &'static [Column];

    /// Calls `each` with the cells of each line of the answer: one cell for each of
    /// [`COLUMNS`](Row::COLUMNS).
    ///
    /// # Errors
    ///
    /// The first error of `each`.
    fn lines<E>(&self, each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E>;
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the column, equal to the name of the JSON field.
    pub name: &'static str,
    /// The kind of the values.
    pub kind: Kind,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fingerprints and counts: unsigned numbers of 64 bits.
    U64,
    /// Distances: unsigned numbers of 32 bits.
    U32,
    /// True or false.
    Bool,
    /// Similarities, in double precision.
    Double,
    /// UTF-8 text, which may be missing.
    Text,
}

/// A value in a line. Its kind is the kind of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A fingerprint, of kind [`Kind::U64`]; lines print it with the hex digits of its width.
    Fingerprint(HexFingerprint),
    /// A number, of kind [`Kind::U64`].
    Number(u64),
    /// A distance in bits, of kind [`Kind::U32`].
    Distance(u32),
    /// Whether the number in the preceding column is exact, of kind [`Kind::Bool`]. Lines have no
    /// such column and print `+` after a number that is a lower bound.
    Exact(bool),
    /// A similarity, of kind [`Kind::Double`]; lines print four digits.
    Similarity(f64),
    /// An id, of kind [`Kind::Text`]; lines print an empty column for `None`.
    Id(Option<IdRef<'a>>),
    /// A text, of kind [`Kind::Text`]; for an empty text, lines print an empty column, and tables
    /// contain a missing value.
    Text(&'a str),
    /// No value. Lines omit the column; a table contains a missing value or omits the column.
    Absent,
}
