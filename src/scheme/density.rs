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

    /// What a table tells by how its values were cut alone. Heads reach about as deep as values
    /// need to differ, so heads of `head_bits` where `needed` would do for even bits have
    /// so many bits that say nothing; which ones is not known, so all count for less.
    pub(crate) fn from_heads(head_bits: u32, needed: u32) -> Self {
        // The cut varies by a bit or two from set to set.
        const NOISE_BITS: u32 = 2;
        if head_bits <= needed + NOISE_BITS {
            return Density::uniform();
        }
        let live = f64::from(needed) / f64::from(head_bits);
        let shared = std::array::from_fn(|bits| 2_f64.powf(-(bits as f64) * live));
        Density { shared, odds: [live; 64], neighbours: Vec::new() }
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
    fn long_heads_tell_of_bits_that_say_nothing() {
        let crowded = Density::from_heads(48, 24);
        assert!((crowded.sharing(48, 2_f64.powi(24)) - 1.0).abs() < 1e-9);
        assert_eq!(crowded.ways(10, 1)[1], 5.0);
        assert_eq!(Density::from_heads(26, 24).ways(10, 1)[1], 10.0);
    }
}
