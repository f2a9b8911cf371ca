//! What documents can be given to: builders, writers, and functions.

use fpstore::Builder;
use fpstore::Result;
use fpstore::Writer;
use fpstore_base::{Fingerprint, IdRef};

/// Takes the fingerprints, ids and sketches of documents.
///
/// A [`Builder`] and a [`Writer`] do, and so does a function, which passes them on.
pub trait Take {
    /// Takes a document. Its sketch is empty unless sketches are asked for.
    ///
    /// # Errors
    ///
    /// Any; one of [`Error::InvalidId`](fpstore::Error::InvalidId) makes the record of the document a
    /// bad one.
    fn take(&mut self, fingerprint: Fingerprint, id: IdRef<'_>, sketch: &[u8]) -> Result<()>;
}

impl<F: FnMut(Fingerprint, IdRef<'_>, &[u8]) -> Result<()>> Take for F {
    fn take(&mut self, fingerprint: Fingerprint, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        self(fingerprint, id, sketch)
    }
}

impl Take for Builder {
    fn take(&mut self, fingerprint: Fingerprint, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        self.push_sketched(fingerprint, id, sketch)
    }
}

impl Take for Writer {
    fn take(&mut self, fingerprint: Fingerprint, id: IdRef<'_>, sketch: &[u8]) -> Result<()> {
        self.push_sketched(fingerprint, id, sketch)
    }
}
