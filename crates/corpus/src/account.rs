//! What became of the documents of a cleaning.

/// The account of a cleaning: each document of the inputs is kept, removed, or counted as one that
/// cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    /// Documents that are kept: those that are near no other one that is kept or stored, and
    /// [`Account::spared_count`] more.
    pub kept_count: u64,
    /// Documents that are removed or annotated because they are near a new one that is kept.
    pub near_new_count: u64,
    /// Documents that are removed or annotated because they are near a stored one.
    pub near_stored_count: u64,
    /// Documents that are kept though they are near a new one that is kept, because more than one of
    /// a cluster may be; see [`Cleaner::per_cluster`](super::Cleaner::per_cluster).
    pub spared_count: u64,
    /// Documents without fingerprint, which stay as they are.
    pub empty_count: u64,
    /// Bad records. They stay as they are, but for the damaged ones.
    pub bad_count: u64,
    /// Those of the bad records that are damaged records of web archives, which are in no output:
    /// what stands behind one would be taken for a part of it.
    pub damaged_count: u64,
    /// Where passages are removed: documents from which some were cut out, or whose attributes name
    /// some.
    pub changed_count: u64,
    /// Where passages are removed: documents that went whole because of them.
    pub dropped_count: u64,
    /// Documents that are added to the store.
    pub added_count: u64,
    /// Outputs that are written.
    pub file_count: u64,
    /// Files that were found in folders and could not be read to their ends or copied; an
    /// [`Event`](super::Event) named each. None of their documents is in an output, or added, or
    /// kept instead of another.
    pub uncopied_count: u64,
    /// The documents that were read of these files.
    pub left_out_count: u64,
    /// Whether the store has added the documents of the same run before, so that nothing was done.
    pub was_added_before: bool,
}

impl Account {
    /// Documents with a fingerprint.
    pub fn document_count(&self) -> u64 {
        self.kept_count + self.removed_count()
    }

    /// Documents that are removed or annotated.
    pub fn removed_count(&self) -> u64 {
        self.near_new_count + self.near_stored_count
    }
}
