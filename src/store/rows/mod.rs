//! Rows: answers of the library in the form that the program, the server and Python print.
//!
//! Each answer is one struct. `Serialize` writes it as JSON under the names of its fields;
//! [`Row::COLUMNS`] and [`Row::lines`] describe it as lines and as a table. The program prints rows
//! as lines, CSV, JSON and Parquet. The server sends [`AnswerRow`] and the client parses it again.
//! Only [`Explained`] reads a store.
//!
//! A fingerprint in a row carries the width of its store, which sets the number of hex digits
//! ([`HexFingerprint`](crate::HexFingerprint)). Ids are strings in JSON, numbers too: JavaScript and
//! jq round numbers above 2^53.
//!
//! ```
//! use fpstore::rows::{Cell, PairRow, Row};
//! use fpstore::{Fingerprint, IdRef};
//!
//! let row = PairRow {
//!     first: Fingerprint::new(1).into(),
//!     second: Fingerprint::new(3).into(),
//!     distance: 1,
//!     similarity: None,
//!     first_id: Some(IdRef::Text("a.html")),
//!     second_id: Some(IdRef::U64(9_007_199_254_740_993)),
//!     first_store: None,
//!     second_store: None,
//! };
//! let names: Vec<&str> = PairRow::COLUMNS.iter().map(|column| column.name).collect();
//! assert_eq!(names[..3], ["first", "second", "distance"]);
//! row.lines(|cells| {
//!     assert!(matches!(cells[2], Cell::Distance(1)));
//!     Ok::<(), std::fmt::Error>(())
//! })?;
//! # Ok::<(), std::fmt::Error>(())
//! ```

use fpstore_base::{HexFingerprint, IdRef};

/// Columns with names and kinds.
macro_rules! columns {
    ($($name:ident: $kind:ident),+ $(,)?) => {
        &[$(crate::rows::Column { name: stringify!($name), kind: crate::rows::Kind::$kind }),+]
    };
}

/// Implements [`Row`] for an answer with exactly one line: each column with its kind and its cell.
macro_rules! one_line_row {
    ($row:ty, $table:literal, |$this:ident| $($name:ident: $kind:ident = $cell:expr),+ $(,)?) => {
        impl crate::rows::Row for $row {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [crate::rows::Column] = columns!($($name: $kind),+);

            fn lines<E>(
                &self,
                mut each: impl FnMut(&[crate::rows::Cell<'_>]) -> Result<(), E>,
            ) -> Result<(), E> {
                let $this = self;
                each(&[$($cell),+])
            }
        }
    };
}

mod answer;
mod cluster;
mod pair;
mod record;

pub use answer::{AnswerRow, Explained, MatchRow};
pub use cluster::{ClusterMemberRow, ClusterRow};
pub use pair::{PairRow, Reason, RemovedRow, Side};
pub use record::{ContaminationRow, HashedRow, LossRow, RecordRow};

/// An answer that can be printed as lines, as a table and as JSON.
pub trait Row {
    /// The name of a table of such rows.
    const TABLE: &'static str;

    /// The columns in their order.
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
    /// The name, equal to the name of the JSON field.
    pub name: &'static str,
    /// The kind of its values.
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

/// A value of a line, of the kind of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A fingerprint; lines print it with the hex digits of its width. [`Kind::U64`].
    Fingerprint(HexFingerprint),
    /// A number. [`Kind::U64`].
    Number(u64),
    /// A distance in bits. [`Kind::U32`].
    Distance(u32),
    /// Whether the number in the preceding column is exact. Lines have no such column and print `+`
    /// after a number that is a lower bound. [`Kind::Bool`].
    Exact(bool),
    /// A similarity; lines print four digits. [`Kind::Double`].
    Similarity(f64),
    /// An id; lines print an empty column for `None`. [`Kind::Text`].
    Id(Option<IdRef<'a>>),
    /// A text; lines print an empty column for an empty text, tables a missing value.
    /// [`Kind::Text`].
    Text(&'a str),
    /// No value. Lines omit the column; a table has a missing value or omits the column.
    Absent,
}
