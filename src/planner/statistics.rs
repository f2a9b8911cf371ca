//! What a sample tells: how even the bits are, and who has near neighbours.

use crate::bits::permutation::{Permutation, Permuted};
use crate::fingerprint::Fingerprint;
use crate::planner::sample::{Origin, Sample};
use crate::planner::table::TableEstimate;
use crate::scheme::{Density, Neighbour};

/// Values that tables are tried on; more would tell little and take long.
const VALUES_MAX: usize = 1 << 14;
/// Pairs that are compared in search of near neighbours.
const PAIRS_MAX: usize = 1 << 25;
/// Pairs at each distance that are kept, each for as many as it must stand for.
const KEPT_AT_DISTANCE: usize = 1024;
/// No pair further apart is looked at one by one.
const NEAR_MAX: usize = 24;
/// Pairs within so many bits are near-duplicates, which do not grow with a collection.
const DUPLICATE_MAX: usize = 8;
/// Pairs are looked at one by one if there are so many times as many as chance would make.
const OVER_CHANCE: f64 = 2.0;
/// A count of pairs below this says too little.
const PAIRS_MIN: f64 = 50.0;

/// A sample, looked at once for all tables.
#[derive(Debug)]
pub(super) struct Statistics {
    values: Vec<u64>,
    value_count: u64,
    /// For each bit, 0 the least significant: the probability that two values agree there.
    agree: [f64; 64],
    /// Differences to near neighbours; how many a query has among `values`, and in all.
    near: Vec<Near>,
}

#[derive(Clone, Copy, Debug)]
struct Near {
    diff: u64,
    in_sample: f64,
    in_all: f64,
}

impl Statistics {
    /// What `sample` tells of a collection of `value_count` distinct fingerprints.
    pub(super) fn new(sample: &Sample, value_count: u64) -> Self {
        let all = sample.values();
        let agree = std::array::from_fn(|bit| {
            let ones = all.iter().filter(|&&value| value >> bit & 1 == 1).count() as f64;
            let count = all.len() as f64;
            let zeros = count - ones;
            // Of pairs of two different values.
            (ones * (ones - 1.0) + zeros * (zeros - 1.0)) / (count * (count - 1.0))
        });
        // By rank of hash, so the first ones are no different from the others.
        let values = all[..all.len().min(VALUES_MAX)].to_vec();
        let thinned = all.len() as f64 / values.len() as f64;
        let grown = value_count as f64 / all.len() as f64;
        let growth = |distance: usize| match sample.origin() {
            Origin::Smaller if distance <= DUPLICATE_MAX => thinned * grown.min(1.0),
            _ => thinned * grown,
        };
        let near = near_neighbours(&values, &agree, growth);
        Statistics { values, value_count, agree, near }
    }

    /// How many bits of information a bit has: 1 for an even one, 0 for a dead one.
    pub(super) fn entropy(&self, bit: u32) -> f64 {
        -self.agree[bit as usize].log2()
    }

    /// What the table by `mask` would be like.
    pub(super) fn table(&self, mask: u64) -> TableEstimate {
        let permutation = Permutation::new(mask);
        let apply = |value: u64| permutation.apply(Fingerprint::new(value)).0;
        let mut sorted: Vec<u64> = self.values.iter().map(|&value| apply(value)).collect();
        sorted.sort_unstable();
        let bits_in_order: [u32; 64] = std::array::from_fn(|at| place_of(&permutation, at as u32));
        let groups = Groups::of(&sorted);
        let near: Vec<Near> =
            self.near.iter().map(|near| Near { diff: apply(near.diff), ..*near }).collect();
        let density = self.density(&groups, &near, &bits_in_order);
        let grown = self.value_count as f64 / self.values.len() as f64;
        let depth = self.depth(&bits_in_order);
        TableEstimate::of_sample(
            mask.count_ones(),
            self.value_count,
            |bits| grown_distinct(&groups, &depth, grown, bits).min(self.value_count as f64),
            |bits| groups_of(&sorted, bits),
            grown,
            density,
        )
    }

    fn density(&self, groups: &Groups, near: &[Near], bits_in_order: &[u32; 64]) -> Density {
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
            shared[bits] = match known {
                true => (background / all_pairs).min(shared[bits - 1]),
                false => shared[bits - 1] * agree,
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

    /// The entropy of the leading bits, for each number of them.
    fn depth(&self, bits_in_order: &[u32; 64]) -> [f64; 65] {
        let mut depth = [0.0; 65];
        for (at, &bit) in bits_in_order.iter().enumerate() {
            depth[at + 1] = depth[at] + self.entropy(bit);
        }
        depth
    }
}

/// Which bit of a fingerprint comes at a place of the order of a table, 0 the first.
fn place_of(permutation: &Permutation, place: u32) -> u32 {
    permutation.invert(Permuted(1 << (63 - place))).value().trailing_zeros()
}

/// Differences to near neighbours: of pairs at distances that bits as uneven as these bring
/// about less often. `growth` is how many neighbours in all one in the sample stands for.
fn near_neighbours(values: &[u64], agree: &[f64; 64], growth: impl Fn(usize) -> f64) -> Vec<Near> {
    let asking = values.len().min((PAIRS_MAX / values.len()).max(1));
    let mut seen_at = [0_usize; NEAR_MAX + 1];
    each_near_pair(values, asking, |distance, _| seen_at[distance] += 1);
    let pairs = asking as f64 * (values.len() - 1) as f64;
    let by_chance = chance_of_distance(agree);
    // Up to a distance, not at it: hashes that set half their bits have even distances alone.
    // Where less than one pair is expected there may as well be none.
    let common = |d: usize| {
        let seen = seen_at[..=d].iter().sum::<usize>() as f64;
        seen.max(1.0) >= OVER_CHANCE * by_chance[..=d].iter().sum::<f64>() * pairs
    };
    let beyond = (0..=NEAR_MAX).find(|&d| !common(d)).unwrap_or(NEAR_MAX + 1);
    let step = seen_at.map(|count| count.div_ceil(KEPT_AT_DISTANCE).max(1));
    let mut passed = [0_usize; NEAR_MAX + 1];
    let mut near = Vec::new();
    each_near_pair(values, asking, |distance, diff| {
        if distance < beyond {
            if passed[distance].is_multiple_of(step[distance]) {
                let kept = seen_at[distance].div_ceil(step[distance]);
                let in_sample = seen_at[distance] as f64 / kept as f64 / asking as f64;
                near.push(Near { diff, in_sample, in_all: in_sample * growth(distance) });
            }
            passed[distance] += 1;
        }
    });
    near
}

/// Hands distance and difference of the near pairs to `take`, seen from the first `asking`.
fn each_near_pair(values: &[u64], asking: usize, mut take: impl FnMut(usize, u64)) {
    for (at, &value) in values[..asking].iter().enumerate() {
        for (other_at, &other) in values.iter().enumerate() {
            let diff = value ^ other;
            let distance = diff.count_ones() as usize;
            if distance <= NEAR_MAX && at != other_at {
                take(distance, diff);
            }
        }
    }
}

/// The probability of each small distance for independent bits as uneven as these.
fn chance_of_distance(agree: &[f64; 64]) -> [f64; NEAR_MAX + 1] {
    let mut chance = [0.0; NEAR_MAX + 1];
    chance[0] = 1.0;
    for agree in agree {
        for distance in (0..chance.len()).rev() {
            let nearer = distance.checked_sub(1).map_or(0.0, |less| chance[less]);
            chance[distance] = chance[distance] * agree + nearer * (1.0 - agree);
        }
    }
    chance
}

/// Groups of sorted values by their leading bits, for each number of bits.
struct Groups {
    /// How many groups there are.
    distinct: [f64; 65],
    /// How many pairs lie in one group.
    pairs: [f64; 65],
}

impl Groups {
    /// Neighbours that share the most leading bits join their groups first, so one pass over
    /// the joints, from 64 bits down, tells of all depths.
    fn of(sorted: &[u64]) -> Self {
        let shared_by = |at: usize| (sorted[at] ^ sorted[at + 1]).leading_zeros() as usize;
        let joints = sorted.len().saturating_sub(1);
        let mut joints_at = vec![Vec::new(); 65];
        (0..joints).for_each(|at| joints_at[shared_by(at)].push(at));
        // The first member of a group knows the last and the other way round.
        let mut ends: Vec<usize> = (0..sorted.len()).collect();
        let mut distinct = [0.0; 65];
        let mut pairs = [0.0; 65];
        let (mut groups, mut pairs_so_far) = (sorted.len(), 0);
        for bits in (0..=64).rev() {
            for &at in &joints_at[bits] {
                let (first, last) = (ends[at], ends[at + 1]);
                pairs_so_far += (at + 1 - first) * (last - at);
                (ends[first], ends[last]) = (last, first);
                groups -= 1;
            }
            distinct[bits] = groups as f64;
            pairs[bits] = pairs_so_far as f64;
        }
        Groups { distinct, pairs }
    }
}

/// How many of the sorted values share each value of their leading `bits`.
fn groups_of(sorted: &[u64], bits: u32) -> impl Iterator<Item = usize> {
    let shift = 64 - bits.min(64);
    sorted.chunk_by(move |a, b| a.checked_shr(shift) == b.checked_shr(shift)).map(<[u64]>::len)
}

/// How many values differ in their leading `bits` once there are `grown` times as many.
///
/// So many more values need log2 of that many more bits to be told apart: the picture at some
/// depth of entropy is the one that the sample shows so much less deep.
fn grown_distinct(groups: &Groups, depth: &[f64; 65], grown: f64, bits: u32) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_all_depths_are_those_that_are_counted_one_by_one() {
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for values in [
            vec![],
            vec![5],
            (0..1000).map(spread).collect::<Vec<u64>>(),
            (0..1000).map(|i| (spread(i / 3) >> 40) | (i % 3)).collect(),
            vec![0, 1, 2, 3, u64::MAX - 1, u64::MAX],
        ] {
            let mut sorted = values;
            sorted.sort_unstable();
            sorted.dedup();
            let groups = Groups::of(&sorted);
            for bits in 0..=64 {
                let counts: Vec<usize> = groups_of(&sorted, bits as u32).collect();
                let pairs: usize = counts.iter().map(|count| count * (count - 1) / 2).sum();
                assert_eq!(groups.distinct[bits], counts.len() as f64, "{bits} bits");
                assert_eq!(groups.pairs[bits], pairs as f64, "{bits} bits");
            }
        }
    }
}
