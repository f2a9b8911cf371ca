//! Statistics of one table: prefix groups, candidates of a probe, and gaps between neighbours.

use crate::base::section::TableIndex;
use crate::bytes::mask::high_bits;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::plan::profile::{SizeClass, SizeCounts};
use fpstore_base::Fingerprint;

/// The number of reported largest prefix groups.
const LARGEST_MAX: usize = 10;

/// Statistics of one table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TableStatistics {
    /// The number of the segment; `None` for the tables that a store of this input would have.
    pub segment: Option<u64>,
    /// The table.
    pub table: TableIndex,
    /// The mask: the bits that lead in the table.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::plan::serialize::mask"))]
    pub mask: u64,
    /// The number of bits of the mask.
    pub prefix_bits: u32,
    /// The length in bits of the syndromes that replace the bits outside the mask; 0 without
    /// syndromes.
    pub syndrome_bits: u32,
    /// The number of counted values. Statistics of a sample count only a part of the values; then
    /// [`scale`](Self::scale) is above 1, and groups and gaps are those of the sample.
    #[cfg_attr(feature = "serde", serde(rename = "values"))]
    pub value_count: u64,
    /// The ratio of all values to counted values.
    pub scale: f64,
    /// The number of prefix groups in each class of sizes. A prefix group is all values with the
    /// same bits in the mask.
    pub groups: Vec<SizeClass>,
    /// The largest prefix groups, largest first, ties by ascending prefix.
    pub largest_groups: Vec<PrefixGroup>,
    /// The mean number of other values in the prefix group of a value: the candidates of a probe
    /// for a fingerprint like the stored ones.
    pub candidates_per_probe: f64,
    /// The expected candidates of a probe in a table of the same number of random values.
    pub uniform_candidates_per_probe: f64,
    /// Gaps between neighbouring permuted values by length, from the shortest to the longest. In a
    /// table with syndromes the bits replaced by a syndrome are unknown: all gaps that are not
    /// longer than those bits form the first class, and the length of a longer gap may be off by
    /// one bit.
    pub gaps: Vec<GapClass>,
    /// The argument of [`Scheme::with_syndromes`](crate::Scheme::with_syndromes) for this table.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) telling_bits: u32,
}

/// The values of a table that have the same bits in its mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PrefixGroup {
    /// The shared bits at their positions in the fingerprint; all other bits are 0.
    pub prefix: Fingerprint,
    /// The number of counted values with this prefix.
    pub count: u64,
}

/// The gaps between neighbouring values that have the same length in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GapClass {
    /// The length of the gaps in bits: a gap is between 2^(bits - 1) and 2^bits - 1.
    pub bits: u32,
    /// The number of gaps with this length.
    pub count: u64,
    /// The mean number of such gaps in a table of the same number of random values.
    pub uniform: f64,
}

impl TableStatistics {
    /// The share of fingerprints, 0 to 1, that would lie in prefix groups of `low` to `high` values
    /// if all bits were evenly distributed.
    pub fn uniform_share_of_groups(&self, low: u64, high: u64) -> f64 {
        // The number of other values in the group of a value follows a Poisson distribution.
        let others =
            self.value_count.saturating_sub(1) as f64 / 2_f64.powi(self.prefix_bits as i32);
        poisson_up_to(others, high - 1)
            - low.checked_sub(2).map_or(0.0, |n| poisson_up_to(others, n))
    }

    /// The size of the largest prefix group. For statistics of a sample it is an estimate, or
    /// `None` if the sample is too small.
    pub fn largest_group_estimate(&self) -> Option<f64> {
        /// A group of fewer sampled values is too small for an estimate.
        const SAMPLED_MIN: u64 = 50;
        let count = self.largest_groups.first()?.count;
        (self.scale <= 1.0 || count >= SAMPLED_MIN).then_some(count as f64 * self.scale)
    }
}

/// The probability that a Poisson number with mean `mean` is at most `most`.
fn poisson_up_to(mean: f64, most: u64) -> f64 {
    if mean > 500.0 {
        // The first term would underflow. A normal distribution is accurate enough for a plot.
        let z = (most as f64 + 0.5 - mean) / mean.sqrt();
        return 1.0 / (1.0 + (-1.5976 * z - 0.070_56 * z.powi(3)).exp());
    }
    let mut term = (-mean).exp();
    let mut sum = term;
    for i in 1..=most.min(4000) {
        term *= mean / i as f64;
        sum += term;
    }
    sum.min(1.0)
}

/// Computes [`TableStatistics`] from the values of a table, pushed in ascending order.
#[derive(Debug)]
pub(super) struct TableAccumulator {
    permutation: Permutation,
    shift: u32,
    /// The number of unknown low bits of each value.
    unknown_bits: u32,
    group_len: u64,
    before: Option<u64>,
    value_count: u64,
    groups: SizeCounts,
    /// The largest groups, ascending by count, then descending by prefix: a larger group replaces
    /// the first.
    largest: Vec<(u64, std::cmp::Reverse<u64>)>,
    /// The number of ordered pairs of values in the same prefix group.
    pairs: f64,
    gaps: [u64; 65],
}

impl TableAccumulator {
    /// An accumulator of permuted values. Their low `unknown_bits`, outside the mask, are unknown
    /// and pushed as 0.
    pub(super) fn new(permutation: Permutation, unknown_bits: u32) -> Self {
        TableAccumulator {
            shift: 64 - permutation.prefix_bits(),
            unknown_bits,
            permutation,
            group_len: 0,
            before: None,
            value_count: 0,
            groups: SizeCounts::new(),
            largest: Vec::with_capacity(LARGEST_MAX + 1),
            pairs: 0.0,
            gaps: [0; 65],
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: u64) {
        if let Some(before) = self.before {
            let bits = 64 - (value - before).leading_zeros();
            self.gaps[bits.max(self.unknown_bits) as usize] += 1;
            if (value ^ before) >> self.shift != 0 {
                self.end_group(before);
            }
        }
        self.group_len += 1;
        self.value_count += 1;
        self.before = Some(value);
    }

    fn end_group(&mut self, member: u64) {
        let len = std::mem::take(&mut self.group_len);
        self.groups.push(len);
        self.pairs += len as f64 * (len - 1) as f64;
        let entry = (len, std::cmp::Reverse(member >> self.shift));
        if self.largest.len() == LARGEST_MAX && self.largest.first().is_some_and(|l| entry < *l) {
            return;
        }
        let at = self.largest.partition_point(|kept| *kept < entry);
        self.largest.insert(at, entry);
        if self.largest.len() > LARGEST_MAX {
            self.largest.remove(0);
        }
    }

    /// Returns the statistics. `scale` is the ratio of all values to pushed values.
    pub(super) fn finish(
        mut self,
        segment: Option<u64>,
        table: TableIndex,
        scale: f64,
    ) -> TableStatistics {
        if let Some(last) = self.before {
            self.end_group(last);
        }
        let n = self.value_count;
        let prefix_bits = 64 - self.shift;
        let prefix_of = |group: u64| self.permutation.invert(Permuted(group << self.shift));
        let largest_groups =
            self.largest.iter().rev().map(|&(count, std::cmp::Reverse(prefix))| PrefixGroup {
                prefix: prefix_of(prefix),
                count,
            });
        let others = (n as f64 * scale - 1.0).max(0.0);
        TableStatistics {
            segment,
            table,
            mask: self.permutation.invert(Permuted(high_bits(prefix_bits))).value(),
            prefix_bits,
            syndrome_bits: 0,
            telling_bits: 0,
            value_count: n,
            scale,
            groups: self.groups.classes(),
            largest_groups: largest_groups.collect(),
            candidates_per_probe: self.pairs * scale / n.max(1) as f64,
            uniform_candidates_per_probe: others / 2_f64.powi(prefix_bits as i32),
            gaps: gap_classes(&self.gaps, n, self.unknown_bits),
        }
    }
}

/// The classes of gaps. The expected counts are those of random values: their gaps follow an
/// exponential distribution with mean 2^64 / n. The first class contains all gaps of at most
/// `unknown_bits`.
fn gap_classes(counts: &[u64; 65], n: u64, unknown_bits: u32) -> Vec<GapClass> {
    let longer = |bits: i32| (-2_f64.powi(bits - 64) * n as f64).exp();
    let gap_count = n.saturating_sub(1) as f64;
    let class = |(bits, &count): (u32, &u64)| {
        let shorter = if bits > unknown_bits { longer(bits as i32 - 1) } else { 1.0 };
        let uniform = gap_count * (shorter - longer(bits as i32));
        GapClass { bits, count, uniform }
    };
    let first = unknown_bits.max(1);
    let all: Vec<GapClass> = (0..).zip(counts).skip(first as usize).map(class).collect();
    let shown = |class: &GapClass| class.count > 0 || class.uniform >= 0.5;
    match (all.iter().position(shown), all.iter().rposition(shown)) {
        (Some(first), Some(last)) if n > 1 => all[first..=last].to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_that_chance_leaves_add_up() {
        for unknown_bits in [0, 12] {
            let classes = gap_classes(&[1; 65], 1000, unknown_bits);
            let sum: f64 = classes.iter().map(|class| class.uniform).sum();
            assert!((sum - 999.0).abs() < 1e-6, "{sum}");
            // 1000 values leave gaps of 2^64 / 1000 on average, about 54 bits.
            let most = classes.iter().max_by(|a, b| a.uniform.total_cmp(&b.uniform)).unwrap();
            assert!((54..=56).contains(&most.bits), "{most:?}");
        }
    }

    fn table_of(mut values: Vec<u64>, mask: u64) -> TableStatistics {
        let permutation = Permutation::new(mask);
        values.iter_mut().for_each(|v| *v = permutation.apply(Fingerprint::new(*v)).0);
        values.sort_unstable();
        let mut accumulator = TableAccumulator::new(permutation, 0);
        values.into_iter().for_each(|value| accumulator.push(value));
        accumulator.finish(None, TableIndex(0), 1.0)
    }

    #[test]
    fn groups_gaps_and_candidates_are_those_of_counting() {
        // Three values have the low 4 bits 0x1, one has 0x2, and one has 0xf.
        let table = table_of(vec![0x11, 0x21, 0x31, 0x02, 0xff], 0xf);
        assert_eq!(table.mask, 0xf);
        let groups: Vec<(u64, u64)> = table.groups.iter().map(|c| (c.low, c.count)).collect();
        assert_eq!(groups, [(1, 2), (2, 0), (3, 1)]);
        let largest = table.largest_groups.iter().map(|g| (g.prefix.value(), g.count));
        assert_eq!(largest.collect::<Vec<_>>(), [(1, 3), (2, 1), (0xf, 1)]);
        assert_eq!(table.candidates_per_probe, 6.0 / 5.0);
        assert_eq!(table.uniform_candidates_per_probe, 4.0 / 16.0);
        assert_eq!(table.gaps.iter().map(|gap| gap.count).sum::<u64>(), 4);
        assert_eq!(table.gaps.iter().find(|gap| gap.bits == 1).map(|gap| gap.count), Some(2));
    }

    #[test]
    fn shares_of_random_groups_add_up() {
        for prefix_bits in [4, 10, 32, 64] {
            let mask = high_bits(prefix_bits);
            let values = (0..20_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let table = table_of(values.collect(), mask);
            let classes = (0..16).map(|c| (if c == 0 { 1 } else { (1 << (c - 1)) + 1 }, 1 << c));
            let sum: f64 = classes.map(|(l, h)| table.uniform_share_of_groups(l, h)).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{prefix_bits}: {sum}");
        }
    }

    #[test]
    fn nothing_and_one_value_have_no_gaps() {
        assert!(table_of(vec![], u64::MAX).gaps.is_empty());
        let one = table_of(vec![7], u64::MAX);
        assert!(one.gaps.is_empty());
        assert_eq!((one.candidates_per_probe, one.groups.len()), (0.0, 1));
    }
}
