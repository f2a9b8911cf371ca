//! The cost of a walk: a batch of queries answered in one pass over each table.

use super::radii::{AccessPath, PathPlan};
use super::unit_costs::UnitCosts;
use crate::segment::Segment;

/// Nanoseconds to start the walk of a table, mostly to allocate the memory of a tile.
const TABLE: f64 = 500_000.0;
/// Nanoseconds to sort a query in the order of a table.
const SORTED: f64 = 25.0;
/// Nanoseconds to compare a query with a block that it probes.
const COMPARED: f64 = 3.5;
/// Nanoseconds for each block of the table, even if no query probes it.
const PASSED: f64 = 3.0;
/// Nanoseconds to decode a block in the L1 cache; [`TOUCHED`] is its number of cache lines.
const DECODED: f64 = 12.0;
const TOUCHED: f64 = 1.2;
/// Nanoseconds for a candidate: to compare its tail, or to decode its syndrome and look up values.
const CANDIDATE: f64 = 20.0;
/// The cost of a probe in a batch that is hardly large enough for a walk, as a share of the cost of
/// a single probe. It is lower because neighbouring probes share cache lines.
const SPARSE_PROBE_COST: f64 = 0.75;
/// With this many candidates for each query a walk does not pay: probes compare many values of a
/// block at once.
const CROWDED: f64 = 64.0;

impl PathPlan {
    /// The expected nanoseconds of a walk for `queries` queries, on one thread, data in memory.
    pub(crate) fn walk_nanos(&self, segment: &Segment, queries: usize) -> f64 {
        let AccessPath::Probe { radii } = &self.path else { return f64::INFINITY };
        let queries = queries as f64;
        let mut nanos = queries * self.estimate.candidates * CANDIDATE;
        for (table, radius) in segment.tables().zip(radii) {
            let Some(radius) = *radius else { continue };
            let bits = table.descriptor.block_bits;
            let blocks = 2_f64.powi(bits as i32);
            let probes = queries * f64::from(1 + radius * bits);
            // Blocks that no query probes are not read.
            let read = blocks * -(-probes / blocks).exp_m1();
            let hot_len = (table.entries.len + table.heads.len) as f64;
            let decoded = DECODED + TOUCHED * UnitCosts::SHIPPED.touch_at(hot_len);
            nanos +=
                TABLE + queries * SORTED + probes * COMPARED + blocks * PASSED + read * decoded;
        }
        nanos
    }

    /// Whether a walk for `queries` queries is expected to take less time than probes. In
    /// measurements with 10^6, 10^7 and 10^8 fingerprints, walks took less time from 3 500, 6 000
    /// and 18 000 queries on.
    pub(crate) fn walk_is_cheaper(&self, segment: &Segment, queries: usize) -> bool {
        let probing = queries as f64 * self.expected_nanos * SPARSE_PROBE_COST;
        self.estimate.ranges < 1.0
            && self.estimate.candidates < CROWDED
            && self.walk_nanos(segment, queries) < probing
    }
}
