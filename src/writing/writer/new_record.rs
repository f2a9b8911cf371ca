//! A record to add.

use fpstore_base::{Fingerprint, Id};

/// A record that may become part of a store.
///
/// It is owned, because it may wait for its commit; an [`input::Record`](crate::input::Record) is
/// borrowed from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The id, if the record has one.
    pub id: Option<Id>,
    /// The sketch of the document; empty unless the store keeps sketches.
    pub sketch: Box<[u8]>,
}

impl NewRecord {
    /// A record without a sketch.
    pub fn new(fingerprint: Fingerprint, id: impl Into<Option<Id>>) -> Self {
        NewRecord { fingerprint, id: id.into(), sketch: Box::default() }
    }
}
