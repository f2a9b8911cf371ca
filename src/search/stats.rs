//! Counters of a search.

use std::ops::AddAssign;

/// Counters of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchStats {
    /// Number of blocks looked up.
    pub probes: u64,
    /// Values whose tails were compared, and values looked up because a syndrome named them.
    pub candidates: u64,
    /// Values compared in passes over whole tables.
    pub scanned: u64,
    /// Pages of tables that this process read for the first time, so that their checksums were
    /// verified. Pages of ids are not counted, because they are read later.
    pub pages_checked: u64,
}

impl AddAssign for SearchStats {
    fn add_assign(&mut self, other: SearchStats) {
        self.probes += other.probes;
        self.candidates += other.candidates;
        self.scanned += other.scanned;
        self.pages_checked += other.pages_checked;
    }
}
