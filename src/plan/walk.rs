//! The cost of a walk: a batch of queries answered in one pass over each table.

use super::radii::{AccessPath, PathPlan};
use super::unit_costs::UnitCosts;
use crate::segment::Segment;

/// Nanoseconds to begin with a table, mostly the memory of a tile.
const TABLE: f64 = 500_000.0;
/// Nanoseconds to sort a query in the order of a table.
const SORTED: f64 = 25.0;
/// Nanoseconds to compare a query with a searched block.
const COMPARED: f64 = 3.5;
/// Nanoseconds for a block, whether a query looks into it or not.
const PASSED: f64 = 3.0;
/// Nanoseconds to decode a block that is in the nearest cache, and cache lines that it touches.
const DECODED: f64 = 12.0;
const TOUCHED: f64 = 1.2;
/// Nanoseconds to compare the tail of a near head, or to look up the values named by its syndrome.
const CANDIDATE: f64 = 20.0;
/// The cost of a probe in a batch, as a part of the cost of a single probe, if there are hardly
/// enough queries for a walk: neighbouring probes share cache lines.
const SPARSE_PROBE_COST: f64 = 0.75;
/// With this many values with a near head for each query, a walk does not pay: probes compare
/// crowded values side by side.
const CROWDED: f64 = 64.0;

impl PathPlan {
    /// The expected nanoseconds of a walk for this many queries, on one thread, with data in memory.
    pub(crate) fn walk_nanos(&self, segment: &Segment, queries: usize) -> f64 {
        let AccessPath::Probe { radii } = &self.path else { return f64::INFINITY };
        let queries = queries as f64;
        let mut nanos = queries * self.estimate.candidates * CANDIDATE;
        for (table, radius) in segment.tables().zip(radii) {
            let Some(radius) = *radius else { continue };
            let bits = table.descriptor.block_bits;
            let blocks = 2_f64.powi(bits as i32);
            let probes = queries * f64::from(1 + radius * bits);
            // Blocks that no query looks into are not read.
            let read = blocks * -(-probes / blocks).exp_m1();
            let hot_len = (table.entries.len + table.heads.len) as f64;
            let decoded = DECODED + TOUCHED * UnitCosts::SHIPPED.touch_at(hot_len);
            nanos +=
                TABLE + queries * SORTED + probes * COMPARED + blocks * PASSED + read * decoded;
        }
        nanos
    }

    /// Whether a walk for this many queries is expected to take less time than probes. Measured
    /// with 10^6, 10^7 and 10^8 fingerprints, walks take less from 3 500, 6 000 and 18 000 queries
    /// on.
    pub(crate) fn walk_is_cheaper(&self, segment: &Segment, queries: usize) -> bool {
        let probing = queries as f64 * self.expected_nanos * SPARSE_PROBE_COST;
        self.estimate.ranges < 1.0
            && self.estimate.candidates < CROWDED
            && self.walk_nanos(segment, queries) < probing
    }
}
