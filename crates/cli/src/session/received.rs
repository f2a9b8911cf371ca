//! What the thread that reads standard input has to say, one record at a time.

use fpstore::writer::NewRecord;
use fpstore::{Id, InputPlace};

/// The result of waiting for a record.
pub(crate) enum Received {
    Record(NewRecord),
    /// A document without features has no fingerprint.
    Empty(Id),
    /// The place of a bad record, and what is wrong with it.
    Bad(InputPlace, String),
    Nothing,
    End,
}
