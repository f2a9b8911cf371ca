//! What becomes of each record.

use std::io;

use fpstore_base::Id;

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFate {
    /// It is copied.
    Keep,
    /// It is left out.
    Drop,
    /// It is copied with a new field, which has this value; `None` is null.
    Mark(Option<Id>),
}

/// Says what becomes of the record of a number.
pub type DecideFate<'a> = dyn FnMut(u64) -> io::Result<RecordFate> + 'a;
