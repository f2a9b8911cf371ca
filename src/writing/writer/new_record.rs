//! A record that is not in a store yet.

use fpstore_base::{Fingerprint, Id};

/// A record that may become part of a store.
///
/// Owned, because it may wait for its commit; [`input::Record`](crate::input::Record) is one that
/// is borrowed from an input.
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
