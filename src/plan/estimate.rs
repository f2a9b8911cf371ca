//! The cost estimate: the expected steps of a query. Each step is multiplied by its unit cost.

use std::ops::AddAssign;

/// The number of steps that the cost model expects for one query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CostEstimate {
    /// Probed tables.
    pub tables: f64,
    /// Blocks looked up in a prefix index.
    pub probes: f64,
    /// Cache lines read from prefix indexes and from lists of restart points.
    pub lines: f64,
    /// Blocks opened because they hold values.
    pub blocks: f64,
    /// Chunks of 64 bytes of heads that are summed at once, in blocks without restart points.
    pub chunks: f64,
    /// Summed chunks in which every head is decoded, because too many heads pass the prefilter.
    pub whole_chunks: f64,
    /// Ranges of heads searched for in blocks with restart points.
    pub ranges: f64,
    /// Heads skipped between a restart point and the start of a range.
    pub heads_passed: f64,
    /// Heads decoded and compared one by one.
    pub heads_compared: f64,
    /// Bytes after the first byte of each gap, for all heads that are skipped, compared, or summed.
    pub extra_bytes: f64,
    /// Values whose tail is read and compared, or whose syndrome is read and decoded.
    pub candidates: f64,
    /// Possible values computed from syndromes, each looked up in the first table.
    pub look_ups: f64,
    /// Values compared in a scan of a table.
    pub scanned: f64,
}

impl AddAssign for CostEstimate {
    fn add_assign(&mut self, other: CostEstimate) {
        self.tables += other.tables;
        self.probes += other.probes;
        self.lines += other.lines;
        self.blocks += other.blocks;
        self.chunks += other.chunks;
        self.whole_chunks += other.whole_chunks;
        self.ranges += other.ranges;
        self.heads_passed += other.heads_passed;
        self.heads_compared += other.heads_compared;
        self.extra_bytes += other.extra_bytes;
        self.candidates += other.candidates;
        self.look_ups += other.look_ups;
        self.scanned += other.scanned;
    }
}
