//! The density of the values of a table: estimates how many values a probe finds in each block.
//!
//! With n evenly distributed values in 2^b blocks, each block contains n / 2^b. Real values are
//! unevenly distributed, so the density is computed from the probability that two values share
//! their leading bits, and from the near-duplicates of a query.

use crate::bytes::mask::high_bits;
use crate::format::prefix_index::BLOCKS_PER_ENTRY;
use crate::scheme::ways_to_flip;

/// Blocks whose numbers differ only in this many lowest bits share an entry of the prefix index.
pub(super) const ENTRY_BITS: u32 = BLOCKS_PER_ENTRY.ilog2();

/// A group of stored near-duplicates of a query that differ from it in the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    /// The bits in which the values differ from the query, permuted like the values of the table.
    pub(crate) diff: u64,
    /// The mean number of values in the group, over all queries.
    pub(crate) count: f64,
}

/// How unevenly the values of a table are distributed over its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crowding {
    /// The probability that two values lie in blocks of the same entry of the prefix index.
    pub(crate) in_entry: f64,
    /// The probability that two values lie in the same block.
    pub(crate) in_block: f64,
}

/// The distribution of the values of a table over its leading bits.
///
/// Values that share leading bits with a query are of two kinds. The *background* shares them by
/// chance, or because bits are skewed; it grows with the number of values. *Neighbours* share
/// nearly all 64 bits, as near-duplicates do, and are listed one by one.
#[derive(Clone, Debug)]
pub(crate) struct Density {
    /// Entry L: the probability that two background values share their leading L bits.
    shared: [f64; 65],
    /// For each bit: the number of values that differ from a query in the bit, divided by the
    /// number that agree. 1 for an evenly distributed bit, 0 for a bit that never varies.
    odds: [f64; 64],
    neighbours: Vec<Neighbour>,
}

impl Density {
    /// The density of independent, evenly distributed bits.
    pub(crate) fn uniform() -> Self {
        let shared = std::array::from_fn(|bits| 2_f64.powi(-(bits as i32)));
        Density { shared, odds: [1.0; 64], neighbours: Vec::new() }
    }

    /// A density with these fields. `shared` must not increase; `odds` are in the order of the bits
    /// of permuted values.
    pub(crate) fn new(shared: [f64; 65], odds: [f64; 64], neighbours: Vec<Neighbour>) -> Self {
        Density { shared, odds, neighbours }
    }

    /// The density that a reader infers from the layout of a table: its prefix bits, block bits
    /// and head bits.
    ///
    /// This assumes that [`Cut`](super::cut::Cut) chose the length of tails, so that heads are
    /// about as long as needed to distinguish values. Evenly distributed bits would need heads of
    /// `needed` bits; the excess is the number of head bits that carry no information. These bits
    /// are assumed to be below the block number, unless `crowding` indicates otherwise, and below
    /// the prefix rather than in it.
    pub(crate) fn of_layout(
        [prefix_bits, block_bits, head_bits]: [u32; 3],
        needed: u32,
        crowding: Option<Crowding>,
    ) -> Self {
        let [prefix, block, head] = [prefix_bits, block_bits, head_bits].map(f64::from);
        let entry = f64::from(block_bits.saturating_sub(ENTRY_BITS));
        let information = |shared: f64| -shared.max(f64::MIN_POSITIVE).log2();
        // The knots are pairs of a number of leading bits and the information in them, which grows
        // linearly between knots.
        let (in_entry, in_block) = match crowding {
            Some(crowding) => (
                information(crowding.in_entry).min(entry),
                information(crowding.in_block).min(block),
            ),
            None => (entry, block),
        };
        let needed = f64::from(needed).max(in_block);
        let in_prefix = (in_block + (prefix.min(head) - block).max(0.0)).min(needed);
        let in_head = needed.min(in_prefix + (head - prefix.max(block)).max(0.0));
        let knots = [
            (0.0, 0.0),
            (entry, in_entry),
            (block, in_block.max(in_entry)),
            (prefix.clamp(block, head.max(block)), in_prefix.max(in_block)),
            (head, in_head.max(in_prefix)),
            (64.0, in_head.max(in_prefix) + (64.0 - head)),
        ];
        let depth = |bits: usize| {
            let bits = bits as f64;
            let after = knots.iter().position(|&(at, _)| at >= bits).unwrap_or(knots.len() - 1);
            let (to, end) = knots[after];
            let (from, start) = knots[after.saturating_sub(1)];
            let share = if to > from { (bits - from) / (to - from) } else { 1.0 };
            start + (end - start) * share
        };
        let odds = |bit: usize| (depth(bit + 1) - depth(bit)).clamp(0.0, 1.0);
        Density {
            shared: std::array::from_fn(|bits| 2_f64.powf(-depth(bits))),
            odds: std::array::from_fn(odds),
            neighbours: Vec::new(),
        }
    }

    /// The uneven distribution that a reader can infer from overflow entries of the prefix index.
    pub(crate) fn crowding(&self, block_bits: u32) -> Crowding {
        let entry = block_bits.saturating_sub(ENTRY_BITS);
        Crowding {
            in_entry: self.shared[entry as usize],
            in_block: self.shared[block_bits as usize],
        }
    }

    /// The mean number of values, of `value_count`, that share `bits` leading bits with a query.
    pub(crate) fn sharing(&self, bits: u32, value_count: f64) -> f64 {
        value_count * self.shared[bits.min(64) as usize]
    }

    /// Entry `i`, 0 to `flips`: the number of ways to flip `i` of the leading `bits` bits of a
    /// query. Each way is weighted by the density of values at the flipped prefix, relative to the
    /// density at the prefix of the query.
    pub(crate) fn ways(&self, bits: u32, flips: u32) -> Vec<f64> {
        ways_to_flip(&self.odds[..bits.min(64) as usize], flips)
    }

    /// The share of values that differ from a query in at most `flips` of the bits `start..end`; 1
    /// for an empty range.
    pub(crate) fn share_near(&self, start: u32, end: u32, flips: u32) -> f64 {
        let odds = self.odds.get(start as usize..end.min(64) as usize).unwrap_or_default();
        let agree: f64 = odds.iter().map(|odds| 1.0 / (1.0 + odds)).product();
        agree * ways_to_flip(odds, flips).iter().sum::<f64>()
    }

    /// Entry `i`, 0 to `radius`: the mean number of neighbours that differ from a query in `i` of
    /// the leading `bits` bits.
    pub(crate) fn neighbours(&self, bits: u32, radius: u32) -> Vec<f64> {
        let mut counts = vec![0.0; radius as usize + 1];
        for near in &self.neighbours {
            let flips = (near.diff & high_bits(bits.min(64))).count_ones();
            if let Some(count) = counts.get_mut(flips as usize) {
                *count += near.count;
            }
        }
        counts
    }

    /// The mean number of values, of `value_count`, that differ from a query in at most `radius` of
    /// the leading `prefix_bits` and in at most `k` of the leading `head_bits`.
    pub(crate) fn within(
        &self,
        [prefix_bits, radius]: [u32; 2],
        [head_bits, k]: [u32; 2],
        value_count: f64,
    ) -> f64 {
        let prefix = prefix_bits.min(head_bits);
        let radius = radius.min(k);
        let inside = self.ways(prefix, radius);
        let outside = ways_to_flip(&self.odds[prefix as usize..head_bits.min(64) as usize], k);
        let mut ways = 0.0;
        for (flips, inside) in (0..).zip(&inside) {
            let rest: f64 = outside.iter().take((k - flips) as usize + 1).sum();
            ways += inside * rest;
        }
        let by_chance = (self.sharing(head_bits, value_count) * ways).min(value_count);
        let head_mask = high_bits(head_bits.min(64));
        let prefix_mask = high_bits(prefix.min(64));
        let near = self.neighbours.iter().filter(|near| {
            (near.diff & prefix_mask).count_ones() <= radius
                && (near.diff & head_mask).count_ones() <= k
        });
        by_chance + near.map(|near| near.count).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_bits_give_the_formulas_of_the_design() {
        let n = 1e9;
        let uniform = Density::uniform();
        let expected = n * 33.0 / 2_f64.powi(32);
        assert!((uniform.within([32, 1], [32, 3], n) / expected - 1.0).abs() < 1e-12);
        // If the head is shorter than the prefix, only flips in the head count.
        let expected = n * 29.0 / 2_f64.powi(28);
        assert!((uniform.within([32, 1], [28, 3], n) / expected - 1.0).abs() < 1e-12);
        // The head has 8 bits after the prefix. Up to 3 of them may flip after no flip in the
        // prefix, up to 2 after one.
        let ways = (1.0 + 8.0 + 28.0 + 56.0) + 16.0 * (1.0 + 8.0 + 28.0);
        let expected = n * ways / 2_f64.powi(24);
        assert!((uniform.within([16, 1], [24, 3], n) / expected - 1.0).abs() < 1e-12);
        // All values differ from a query in at most 64 bits.
        assert_eq!(uniform.within([64, 64], [64, 64], n), n);
    }

    #[test]
    fn neighbours_count_within_the_radius_of_the_table() {
        let neighbours = vec![Neighbour { diff: 0b111 << 61, count: 2.0 }];
        let density = Density::new([0.0; 65], [1.0; 64], neighbours);
        assert_eq!(density.within([32, 3], [40, 3], 10.0), 2.0);
        assert_eq!(density.within([32, 2], [40, 3], 10.0), 0.0);
        assert_eq!(density.within([2, 2], [2, 2], 10.0), 2.0);
    }

    #[test]
    fn a_layout_shows_which_bits_carry_no_information() {
        let n = 2_f64.powi(24);
        let even = Density::of_layout([32, 19, 29], 29, None);
        for bits in 0..=32 {
            let ratio = even.sharing(bits, n) / Density::uniform().sharing(bits, n);
            assert!((ratio - 1.0).abs() < 1e-9, "{bits}: {ratio}");
        }
        // Heads of 49 bits instead of 29: the 16 bits of the prefix vary, 20 bits below it never
        // do.
        let gap = Density::of_layout([16, 12, 49], 29, None);
        assert!((gap.sharing(16, n) / 2_f64.powi(8) - 1.0).abs() < 1e-9);
        assert!((gap.sharing(49, n) * 32.0 - 1.0).abs() < 1e-9);
        assert_eq!(gap.ways(16, 1)[1], 16.0);
        // Of the 10 bits that select an index entry, 5 never vary.
        let crowding = Crowding { in_entry: 2_f64.powi(-5), in_block: 2_f64.powi(-9) };
        let dead = Density::of_layout([32, 14, 34], 29, Some(crowding));
        assert_eq!(dead.ways(10, 1)[1], 5.0);
        assert!((dead.sharing(14, 1.0) / 2_f64.powi(-9) - 1.0).abs() < 1e-9);
    }
}
