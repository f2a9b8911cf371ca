//! How values crowd under the leading bits of a table, and how flips lead elsewhere.

use super::combinatorics::ways_to_flip;

/// Stored values near a query in all 64 bits, seen from one table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour {
    /// The bits in which it differs, in the order of the table.
    pub(crate) diff: u64,
    /// How many such neighbours a query has on average.
    pub(crate) count: f64,
}

/// A line of the prefix index tells of so many blocks, as a power of 2.
const BLOCKS_PER_LINE_BITS: u32 = 4;

/// How crowded blocks are: the probability that two values share one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crowded {
    /// Share the blocks of one line of the prefix index.
    pub(crate) in_line: f64,
    /// Share a block.
    pub(crate) in_block: f64,
}

/// What is known of the order of a table: enough to expect how many values a probe meets.
///
/// Two kinds of company are told apart. The *background* shares leading bits by chance or by
/// skew; it grows with the number of values. *Neighbours* share nearly all bits, as
/// near-duplicates do, and are listed one by one.
#[derive(Clone, Debug)]
pub(crate) struct Density {
    /// At L: the probability that two values of the background share their leading L bits.
    shared: [f64; 65],
    /// For each bit: how many values differ from a value there for one that agrees, both alike
    /// elsewhere. 1 for an even bit, 0 for a dead one.
    odds: [f64; 64],
    neighbours: Vec<Neighbour>,
}

impl Density {
    #[cfg(any(test, feature = "build"))]
    /// Independent even bits.
    pub(crate) fn uniform() -> Self {
        let shared = std::array::from_fn(|bits| 2_f64.powi(-(bits as i32)));
        Density { shared, odds: [1.0; 64], neighbours: Vec::new() }
    }

    /// `shared[L]` for the leading L bits, not rising; `odds` for each bit in order.
    #[cfg(feature = "build")]
    pub(crate) fn new(shared: [f64; 65], odds: [f64; 64], neighbours: Vec<Neighbour>) -> Self {
        Density { shared, odds, neighbours }
    }

    /// What a table tells by how it was cut.
    ///
    /// Heads reach about as deep as values need to differ: those of `head_bits` where `needed`
    /// would do for even bits have so many bits that say nothing. Unless blocks are `crowded`
    /// these lie below the bits that name blocks, and rather below the prefix than in it.
    pub(crate) fn of_cut(
        (prefix_bits, block_bits, head_bits): (u32, u32, u32),
        needed: u32,
        crowded: Option<Crowded>,
    ) -> Self {
        let [prefix, block, head] = [prefix_bits, block_bits, head_bits].map(f64::from);
        let line = f64::from(block_bits.saturating_sub(BLOCKS_PER_LINE_BITS));
        let information = |shared: f64| -shared.max(f64::MIN_POSITIVE).log2();
        // Information of the leading bits at the knots, between which it grows evenly.
        let (in_line, in_block) = match crowded {
            Some(crowded) => {
                (information(crowded.in_line).min(line), information(crowded.in_block).min(block))
            }
            None => (line, block),
        };
        let needed = f64::from(needed).max(in_block);
        let in_prefix = (in_block + (prefix.min(head) - block).max(0.0)).min(needed);
        let in_head = needed.min(in_prefix + (head - prefix.max(block)).max(0.0));
        let knots = [
            (0.0, 0.0),
            (line, in_line),
            (block, in_block.max(in_line)),
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

    /// What a reader can learn of crowded blocks, if lines of the index tell of any.
    #[cfg(feature = "build")]
    pub(crate) fn crowded(&self, block_bits: u32) -> Crowded {
        let line = block_bits.saturating_sub(BLOCKS_PER_LINE_BITS);
        Crowded { in_line: self.shared[line as usize], in_block: self.shared[block_bits as usize] }
    }

    /// How many of `value_count` values share their leading `bits` with a query, on average.
    pub(crate) fn sharing(&self, bits: u32, value_count: f64) -> f64 {
        value_count * self.shared[bits.min(64) as usize]
    }

    /// For each number of flips up to `flips`: how many ways to make them in the leading `bits`
    /// lead to where values are, as dense as at home.
    pub(crate) fn ways(&self, bits: u32, flips: u32) -> Vec<f64> {
        ways_to_flip(&self.odds[..bits.min(64) as usize], flips)
    }

    /// The share of values that differ from a query in at most so many of the bits from one on to another; of no
    /// bits, all.
    pub(crate) fn share_near(&self, start: u32, end: u32, flips: u32) -> f64 {
        let odds = self.odds.get(start as usize..end.min(64) as usize).unwrap_or_default();
        let agree: f64 = odds.iter().map(|odds| 1.0 / (1.0 + odds)).product();
        agree * ways_to_flip(odds, flips).iter().sum::<f64>()
    }

    /// How many neighbours have so many flips, 0 to `radius`, in the leading `bits`.
    pub(crate) fn neighbours(&self, bits: u32, radius: u32) -> Vec<f64> {
        let mut counts = vec![0.0; radius as usize + 1];
        for near in &self.neighbours {
            let flips = (near.diff & leading(bits)).count_ones();
            if let Some(count) = counts.get_mut(flips as usize) {
                *count += near.count;
            }
        }
        counts
    }

    /// How many of `value_count` values differ from a query in at most `radius` of their leading
    /// `prefix_bits`, and in at most `k` of their leading `head_bits`, on average.
    pub(crate) fn within(
        &self,
        (prefix_bits, radius): (u32, u32),
        (head_bits, k): (u32, u32),
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
        let head_mask = leading(head_bits);
        let prefix_mask = leading(prefix);
        let near = self.neighbours.iter().filter(|near| {
            (near.diff & prefix_mask).count_ones() <= radius
                && (near.diff & head_mask).count_ones() <= k
        });
        by_chance + near.map(|near| near.count).sum::<f64>()
    }
}

/// A word with the leading `bits` set.
fn leading(bits: u32) -> u64 {
    u64::MAX.checked_shl(64 - bits.min(64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_bits_give_the_formulas_of_the_design() {
        let n = 1e9;
        let uniform = Density::uniform();
        let expected = n * 33.0 / 2_f64.powi(32);
        assert!((uniform.within((32, 1), (32, 3), n) / expected - 1.0).abs() < 1e-12);
        // A head shorter than the prefix forgives in what there is of it.
        let expected = n * 29.0 / 2_f64.powi(28);
        assert!((uniform.within((32, 1), (28, 3), n) / expected - 1.0).abs() < 1e-12);
        // A longer one forgives the rest of k outside: 8 bits, up to 3 or 2 of them.
        let ways = (1.0 + 8.0 + 28.0 + 56.0) + 16.0 * (1.0 + 8.0 + 28.0);
        let expected = n * ways / 2_f64.powi(24);
        assert!((uniform.within((16, 1), (24, 3), n) / expected - 1.0).abs() < 1e-12);
        // Everything is within 64 bits.
        assert_eq!(uniform.within((64, 64), (64, 64), n), n);
    }

    #[test]
    fn neighbours_count_where_the_table_forgives_them() {
        let neighbours = vec![Neighbour { diff: 0b111 << 61, count: 2.0 }];
        let density = Density::new([0.0; 65], [1.0; 64], neighbours);
        assert_eq!(density.within((32, 3), (40, 3), 10.0), 2.0);
        assert_eq!(density.within((32, 2), (40, 3), 10.0), 0.0);
        assert_eq!(density.within((2, 2), (2, 2), 10.0), 2.0);
    }

    #[test]
    fn a_cut_tells_where_bits_say_nothing() {
        let n = 2_f64.powi(24);
        let even = Density::of_cut((32, 19, 29), 29, None);
        for bits in 0..=32 {
            let ratio = even.sharing(bits, n) / Density::uniform().sharing(bits, n);
            assert!((ratio - 1.0).abs() < 1e-9, "{bits}: {ratio}");
        }
        // 16 live bits, then 20 dead ones that heads must pass.
        let gap = Density::of_cut((16, 12, 49), 29, None);
        assert!((gap.sharing(16, n) / 2_f64.powi(8) - 1.0).abs() < 1e-9);
        assert!((gap.sharing(49, n) * 32.0 - 1.0).abs() < 1e-9);
        assert_eq!(gap.ways(16, 1)[1], 16.0);
        // The leading half of what names a line is dead.
        let crowded = Crowded { in_line: 2_f64.powi(-5), in_block: 2_f64.powi(-9) };
        let dead = Density::of_cut((32, 14, 34), 29, Some(crowded));
        assert_eq!(dead.ways(10, 1)[1], 5.0);
        assert!((dead.sharing(14, 1.0) / 2_f64.powi(-9) - 1.0).abs() < 1e-9);
    }
}
