//! The row: one answer with its columns and cells.

use fpstore_base::{HexFingerprint, IdRef};

/// An answer that can be shown in lines, in a table and in JSON.
pub trait Row {
    /// The name of a table of such rows.
    const TABLE: &'static str;

    /// The columns in their order.
    const COLUMNS: &'static [Column];

    /// Calls `each` with the cells of each line that the answer has in a table: one cell for each
    /// of [`COLUMNS`](Row::COLUMNS).
    ///
    /// # Errors
    ///
    /// The first error of `each`.
    fn lines<E>(&self, each: impl FnMut(&[Cell<'_>]) -> Result<(), E>) -> Result<(), E>;
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, which is that of the field in JSON.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fingerprints and counts: numbers without sign of 64 bits.
    U64,
    /// Distances: numbers without sign of 32 bits.
    U32,
    /// True or false.
    Bool,
    /// Similarities, in double precision.
    Double,
    /// Texts in UTF-8, which may be missing.
    Text,
}

/// A value of a line, of the kind of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A fingerprint, which lines show in the hex digits of its width. [`Kind::U64`].
    Fingerprint(HexFingerprint),
    /// A number. [`Kind::U64`].
    Number(u64),
    /// A distance in bits. [`Kind::U32`].
    Distance(u32),
    /// Whether the number of the column before is exact. It has no column in lines, which show `+`
    /// behind a number that may be larger. [`Kind::Bool`].
    Exact(bool),
    /// A similarity, which lines show with four digits. [`Kind::Double`].
    Similarity(f64),
    /// An id; lines show an empty column for none. [`Kind::Text`].
    Id(Option<IdRef<'a>>),
    /// A text; lines show an empty column for an empty one, tables no value. [`Kind::Text`].
    Text(&'a str),
    /// No value, and no column in lines. A table has no value for it, or leaves out the column.
    Absent,
}

impl Column {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Column { name, kind }
    }
}
