//! The cost estimate: the expected steps of a query, in the units of the unit costs.

use std::ops::AddAssign;

/// The expected steps of one query by the cost model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CostEstimate {
    /// Tables that are probed.
    pub tables: f64,
    /// Blocks looked up in a prefix index.
    pub probes: f64,
    /// Cache lines of prefix indexes and of restart points that are read.
    pub lines: f64,
    /// Blocks opened because they hold values.
    pub blocks: f64,
    /// Chunks of 64 bytes of heads that are summed at once, in blocks without restart points.
    pub chunks: f64,
    /// The chunks in which every head is decoded, because too many pass the prefilter.
    pub whole_chunks: f64,
    /// Ranges of heads searched for in blocks with restart points.
    pub ranges: f64,
    /// Heads skipped on the way to a range.
    pub heads_passed: f64,
    /// Heads decoded and compared one by one.
    pub heads_compared: f64,
    /// Bytes of gaps beyond the first byte, of the heads skipped, compared, or summed in chunks.
    pub extra_bytes: f64,
    /// Values whose tail is read and compared, or decoded if it is a syndrome.
    pub candidates: f64,
    /// Values named by syndromes, each looked up in the first table.
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
