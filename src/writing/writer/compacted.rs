//! The result of a compaction.

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Segments that were merged, over all merges.
    pub merged: u64,
    /// New segments.
    pub made: u64,
    /// Bytes of the segments that were merged.
    pub read_len: u64,
    /// Bytes of the new segments.
    pub written_len: u64,
    /// Deleted fingerprints that the new segments leave out.
    pub deleted_fingerprints: u64,
    /// Deleted ids that the new segments leave out.
    pub deleted_ids: u64,
    /// Merges whose result was thrown away, because another process removed or changed one of their
    /// segments meanwhile.
    pub conflicted: u64,
}
