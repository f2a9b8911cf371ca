//! A model of the data, derived from a sample: how evenly each bit is distributed, and how
//! near-duplicates differ.
//!
//! From this model the planner derives the information of each bit, to lay out blocks, and a model
//! of the table for any mask.

use crate::bytes::distances::distances_from;
use crate::bytes::permutation::{Permutation, Permuted};
use crate::plan::density::{Density, Neighbour};
use crate::plan::profile::bits::{BitCounts, agreement};
use crate::plan::profile::distances::distribution;
use crate::plan::profile::groups::{GroupCounts, group_lens};
use crate::plan::profile::{Origin, Sample};
use crate::plan::table::TableEstimate;
use fpstore_base::Fingerprint;

/// Maximum number of values from which tables are modelled: more would take long and add little.
const VALUES_MAX: usize = 1 << 14;
/// Maximum number of pairs compared to find near neighbours.
const PAIRS_MAX: usize = 1 << 25;
/// Maximum number of pairs kept at each distance; with more pairs, a kept pair represents several.
const KEPT_AT_DISTANCE: usize = 1024;
/// The greatest distance at which pairs are examined.
const NEAR_MAX: usize = 24;
/// Pairs within this distance are near-duplicates: their number for each value does not grow with
/// the collection.
const DUPLICATE_MAX: usize = 8;
/// Pairs count as neighbours up to the greatest distance within which there are at least this many
/// times as many pairs as by chance.
const OVER_CHANCE: f64 = 2.0;
/// Minimum number of sampled pairs with common leading bits from which their share is measured;
/// with fewer pairs, the share is computed from the agreement of single bits.
const PAIRS_MIN: f64 = 50.0;

/// A model of the data represented by a sample.
#[derive(Debug)]
pub(crate) struct SampleModel {
    values: Vec<u64>,
    value_count: u64,
    /// For each bit, 0 the least significant: the probability that two values agree in it.
    agree: [f64; 64],
    /// The near neighbours of a query, grouped by the bits in which they differ from it.
    near: Vec<Near>,
}

#[derive(Clone, Copy, Debug)]
struct Near {
    /// The bits in which these neighbours differ from the query.
    diff: u64,
    /// The mean number of these neighbours among the values of the model.
    in_sample: f64,
    /// The mean number of these neighbours in the whole collection.
    in_all: f64,
}

impl SampleModel {
    /// The model of a collection of `value_count` distinct fingerprints.
    pub(crate) fn new(sample: &Sample, value_count: u64) -> Self {
        let all = sample.values();
        let mut counts = BitCounts::new();
        all.iter().for_each(|&value| counts.push(value, |_| {}));
        let (ones, count) = counts.finish(|_, _| {});
        let agree = ones.map(|ones| agreement(ones, count));
        // The first values of a sample are a random sample, too.
        let values = all[..all.len().min(VALUES_MAX)].to_vec();
        let thinned = all.len() as f64 / values.len() as f64;
        let grown = value_count as f64 / all.len() as f64;
        let growth = |distance: usize| match sample.origin() {
            Origin::Smaller if distance <= DUPLICATE_MAX => thinned * grown.min(1.0),
            _ => thinned * grown,
        };
        let near = near_neighbours(&values, &agree, growth);
        SampleModel { values, value_count, agree, near }
    }

    /// The information of a bit, in bits: 1 if it is evenly distributed, 0 if it never varies.
    pub(crate) fn entropy(&self, bit: u32) -> f64 {
        -self.agree[bit as usize].log2()
    }

    /// Estimates the table with this mask.
    pub(super) fn table(&self, mask: u64) -> TableEstimate {
        let permutation = Permutation::new(mask);
        let apply = |value: u64| permutation.apply(Fingerprint::new(value)).0;
        let mut sorted: Vec<u64> = self.values.iter().map(|&value| apply(value)).collect();
        sorted.sort_unstable();
        let bits_in_order: [u32; 64] = std::array::from_fn(|at| place_of(&permutation, at as u32));
        let groups = GroupCounts::of(&sorted);
        let near: Vec<Near> =
            self.near.iter().map(|near| Near { diff: apply(near.diff), ..*near }).collect();
        let density = self.density(&groups, &near, &bits_in_order);
        let grown = self.value_count as f64 / self.values.len() as f64;
        let depth = self.depth(&bits_in_order);
        TableEstimate::of_sample(
            mask.count_ones(),
            self.value_count,
            |bits| grown_distinct(&groups, &depth, grown, bits).min(self.value_count as f64),
            |bits| group_lens(&sorted, bits),
            grown,
            density,
        )
    }

    fn density(&self, groups: &GroupCounts, near: &[Near], bits_in_order: &[u32; 64]) -> Density {
        let count = self.values.len() as f64;
        let all_pairs = count * (count - 1.0) / 2.0;
        let mut near_sharing = [0.0; 65];
        for near in near {
            near_sharing[near.diff.leading_zeros() as usize] += near.in_sample * count / 2.0;
        }
        for bits in (0..64).rev() {
            near_sharing[bits] += near_sharing[bits + 1];
        }
        let mut shared = [1.0_f64; 65];
        let mut known = true;
        for bits in 1..=64 {
            let background = groups.pairs[bits] - near_sharing[bits];
            known &= background >= PAIRS_MIN;
            let agree = self.agree[bits_in_order[bits - 1] as usize];
            shared[bits] = if known {
                (background / all_pairs).min(shared[bits - 1])
            } else {
                shared[bits - 1] * agree
            };
        }
        let odds = bits_in_order.map(|bit| {
            let agree = self.agree[bit as usize];
            (1.0 - agree) / agree
        });
        let neighbours =
            near.iter().map(|near| Neighbour { diff: near.diff, count: near.in_all }).collect();
        Density::new(shared, odds, neighbours)
    }

    /// Entry L: the entropy of the leading L bits.
    fn depth(&self, bits_in_order: &[u32; 64]) -> [f64; 65] {
        let mut depth = [0.0; 65];
        for (at, &bit) in bits_in_order.iter().enumerate() {
            depth[at + 1] = depth[at] + self.entropy(bit);
        }
        depth
    }
}

/// The bit of a fingerprint at position `place` of its permuted value; 0 is the leading position.
fn place_of(permutation: &Permutation, place: u32) -> u32 {
    permutation.invert(Permuted(1 << (63 - place))).value().trailing_zeros()
}

/// Finds the near neighbours: pairs at distances that are more frequent than by chance, given the
/// agreement of each bit. `growth` returns, for a distance, the number of neighbours in the whole
/// collection for each neighbour in the sample.
fn near_neighbours(values: &[u64], agree: &[f64; 64], growth: impl Fn(usize) -> f64) -> Vec<Near> {
    let queries = values.len().min((PAIRS_MAX / values.len()).max(1));
    let mut seen_at = [0_usize; NEAR_MAX + 1];
    each_near_pair(values, queries, |distance, _| seen_at[distance] += 1);
    let pairs = queries as f64 * (values.len() - 1) as f64;
    let by_chance = distribution(agree);
    // Compares the numbers of pairs up to a distance, not at it: hashes that always set half of
    // their bits have only even distances. A number of zero counts as one pair.
    let common = |d: usize| {
        let seen = seen_at[..=d].iter().sum::<usize>() as f64;
        seen.max(1.0) >= OVER_CHANCE * by_chance[..=d].iter().sum::<f64>() * pairs
    };
    let beyond = (0..=NEAR_MAX).find(|&d| !common(d)).unwrap_or(NEAR_MAX + 1);
    if beyond == 0 {
        return Vec::new();
    }
    let step = seen_at.map(|count| count.div_ceil(KEPT_AT_DISTANCE).max(1));
    let mut passed = [0_usize; NEAR_MAX + 1];
    let mut near = Vec::new();
    each_near_pair(values, queries, |distance, diff| {
        if distance < beyond {
            if passed[distance].is_multiple_of(step[distance]) {
                let kept = seen_at[distance].div_ceil(step[distance]);
                let in_sample = seen_at[distance] as f64 / kept as f64 / queries as f64;
                near.push(Near { diff, in_sample, in_all: in_sample * growth(distance) });
            }
            passed[distance] += 1;
        }
    });
    near
}

/// Calls `take` with the distance and the differing bits of each pair of one of the first `queries`
/// values and a value within [`NEAR_MAX`].
fn each_near_pair(values: &[u64], queries: usize, mut take: impl FnMut(usize, u64)) {
    for (at, &value) in values[..queries].iter().enumerate() {
        distances_from(value, values, |start, distances| {
            for (other_at, &distance) in (start..).zip(distances) {
                if distance <= NEAR_MAX as u8 && at != other_at {
                    take(distance.into(), value ^ values[other_at]);
                }
            }
        });
    }
}

/// The number of distinct prefixes of `bits` bits in a collection `grown` times as large as the
/// sample.
///
/// `grown` times as many values need log2(grown) more bits of information to differ. So prefixes of
/// the collection with some entropy repeat as often as prefixes of the sample with an entropy that
/// is smaller by log2(grown) bits.
fn grown_distinct(groups: &GroupCounts, depth: &[f64; 65], grown: f64, bits: u32) -> f64 {
    let wanted = depth[bits as usize] - grown.log2();
    if wanted <= 0.0 {
        return depth[bits as usize].exp2();
    }
    let after = depth.partition_point(|&d| d < wanted).min(64);
    if after == 0 {
        return grown * groups.distinct[0];
    }
    let (low, high) = (depth[after - 1], depth[after]);
    let share = if high > low { ((wanted - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
    let (below, above) = (groups.distinct[after - 1].ln(), groups.distinct[after].ln());
    grown * (below * (1.0 - share) + above * share).exp()
}
