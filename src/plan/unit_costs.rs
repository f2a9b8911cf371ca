//! The unit costs: nanoseconds for each kind of step of a query.
//!
//! They convert a [`CostEstimate`] into nanoseconds, to compare schemes, radii and scans.

use super::estimate::CostEstimate;

/// The footprints at which the cost of a touch (of a cache line in random order) is known: binary
/// logarithms of bytes.
const TOUCH_BITS: [u32; 7] = [18, 20, 22, 24, 26, 28, 30];

/// Cache lines touched to look up a value: one of the index, one of heads, one of tails.
const LINES_PER_LOOK_UP: f64 = 3.0;

/// The cost of a cache miss that a query waits for, as a multiple of a prefetched touch.
const TOUCHES_PER_MISS: f64 = 12.0;

/// The cost of each step of a query in nanoseconds, on one thread.
///
/// `cargo bench --bench fit` and `tools/fit_costs.py` measure them. Choices depend only on the
/// proportions of these costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitCosts {
    /// Fixed cost of each query.
    pub(crate) query: f64,
    /// Fixed cost of each probed table.
    pub(crate) table: f64,
    /// To look up a block whose index entry is in the L1 cache.
    pub(crate) probe: f64,
    /// To open a non-empty block.
    pub(crate) block: f64,
    /// To sum a chunk of 64 bytes of heads and compare the lowest bytes of the sums.
    pub(crate) chunk: f64,
    /// To decode every head of a chunk.
    pub(crate) whole_chunk: f64,
    /// To search for a range of heads in a block.
    pub(crate) range: f64,
    /// To skip a head.
    pub(crate) head_passed: f64,
    /// To decode and compare a head.
    pub(crate) head_compared: f64,
    /// To read a byte after the first byte of a gap.
    pub(crate) extra_byte: f64,
    /// To compare a candidate whose tail is in the L1 cache.
    pub(crate) candidate: f64,
    /// To look up a value computed from a syndrome, cache misses excluded.
    pub(crate) look_up: f64,
    /// To decode and compare a value in a scan of a table.
    pub(crate) scanned: f64,
    /// To wait for a prefetched cache line, if queries read 2^18, 2^20, ... 2^30 bytes randomly.
    pub(crate) touch: [f64; TOUCH_BITS.len()],
    /// To read a page that is not in memory.
    pub(crate) cold_page: f64,
}

impl UnitCosts {
    /// The costs measured on one machine.
    pub(crate) const SHIPPED: UnitCosts = UnitCosts {
        query: 53.4,
        table: 54.5,
        probe: 4.8,
        block: 2.0,
        chunk: 12.0,
        whole_chunk: 51.5,
        range: 5.2,
        head_passed: 0.33,
        head_compared: 0.8,
        extra_byte: 0.1,
        candidate: 11.3,
        look_up: 150.0,
        scanned: 5.2,
        // The last three values are fitted to two tables of 10^8 fingerprints and queries of 2.9
        // us.
        touch: [0.0, 0.2, 1.5, 4.6, 8.0, 14.5, 22.0],
        cold_page: 60_000.0,
    };

    /// Nanoseconds for the steps of `estimate` with data in memory, if queries read `footprint`
    /// bytes in random order.
    pub(crate) fn nanos(&self, estimate: &CostEstimate, footprint: f64) -> f64 {
        // A query waits for its first index entry, first heads and first tail; further cache lines
        // are prefetched and arrive in the meantime.
        let waited = if estimate.probes > 0.0 { 3.0 * TOUCHES_PER_MISS } else { 0.0 };
        let touched = estimate.lines
            + estimate.blocks
            + estimate.candidates
            + LINES_PER_LOOK_UP * estimate.look_ups
            + waited;
        self.query
            + self.table * estimate.tables
            + self.probe * estimate.probes
            + self.block * estimate.blocks
            + self.chunk * estimate.chunks
            + self.whole_chunk * estimate.whole_chunks
            + self.range * estimate.ranges
            + self.head_passed * estimate.heads_passed
            + self.head_compared * estimate.heads_compared
            + self.extra_byte * estimate.extra_bytes
            + self.candidate * estimate.candidates
            + self.look_up * estimate.look_ups
            + self.scanned * estimate.scanned
            + self.touch_at(footprint) * touched
    }

    /// The cost of touching a cache line, interpolated over the logarithm of the footprint.
    pub(super) fn touch_at(&self, footprint: f64) -> f64 {
        let first = f64::from(TOUCH_BITS[0]);
        let place = ((footprint.max(1.0).log2() - first) / 2.0).clamp(0.0, 6.0);
        let below = (place as usize).min(TOUCH_BITS.len() - 2);
        let share = place - below as f64;
        self.touch[below] * (1.0 - share) + self.touch[below + 1] * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touch_costs_more_in_more_memory() {
        let costs = UnitCosts { touch: [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ..UnitCosts::SHIPPED };
        for (footprint, expected) in
            [(0.0, 0.0), (2e5, 0.0), (1_048_576.0, 1.0), (2_097_152.0, 1.5), (1e18, 6.0)]
        {
            assert_eq!(costs.touch_at(footprint), expected, "{footprint}");
        }
    }
}
