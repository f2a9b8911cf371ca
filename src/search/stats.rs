//! Counters of a search.

use std::ops::AddAssign;

/// Counters of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SearchStats {
    /// Blocks looked up.
    pub probes: u64,
    /// Values whose tail was fetched and compared, and values named by syndromes and looked up.
    pub candidates: u64,
    /// Values compared in sequential passes.
    pub scanned: u64,
    /// Pages of tables whose checksum was verified because this process had not read them before.
    /// Pages of ids do not count; they are read later.
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
