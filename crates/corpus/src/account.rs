//! Counts of the documents that a cleaning keeps and removes.

/// Counts of a cleaning: each document of the inputs is kept, removed, or counted as not
/// comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Kept documents: the documents without a kept or stored near-duplicate, plus the
    /// [`Account::spared_count`].
    pub kept_count: u64,
    /// Documents removed or annotated because they are near a kept new document.
    pub near_new_count: u64,
    /// Documents removed or annotated because they are near a stored document.
    pub near_stored_count: u64,
    /// Documents kept although they are near a kept new document, because
    /// [`Cleaner::per_cluster`](super::Cleaner::per_cluster) allows several documents of a cluster.
    pub spared_count: u64,
    /// Documents without fingerprint, which are kept unchanged.
    pub empty_count: u64,
    /// Bad records. They are kept unchanged, except damaged records.
    pub bad_count: u64,
    /// Bad records that are damaged records of web archives. They are in no output: a reader would
    /// take the bytes after a damaged record for a part of it.
    pub damaged_count: u64,
    /// If passages are removed: documents with passages cut out, or with removed passages listed in
    /// their attributes.
    pub changed_count: u64,
    /// If passages are removed: documents removed as a whole because of removed passages.
    pub dropped_count: u64,
    /// Documents added to the store.
    pub added_count: u64,
    /// Output files written.
    pub file_count: u64,
    /// Files from searched folders that could not be read to the end or copied; each was reported
    /// by an [`Event`](super::Event). None of their documents is in an output, added to the store,
    /// or kept instead of another document.
    pub uncopied_count: u64,
    /// Documents read from the files of `uncopied_count`.
    pub left_out_count: u64,
    /// Whether the store already contained the documents of this run, so that nothing was done.
    pub was_added_before: bool,
}

impl Account {
    /// The number of documents with a fingerprint.
    pub fn document_count(&self) -> u64 {
        self.kept_count + self.removed_count()
    }

    /// The number of documents removed or annotated.
    pub fn removed_count(&self) -> u64 {
        self.near_new_count + self.near_stored_count
    }
}
