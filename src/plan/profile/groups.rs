//! Groups of sorted values that share their leading bits.

/// For each number of leading bits: counts of the groups of values that share these bits.
pub(crate) struct GroupCounts {
    /// The number of groups.
    pub(crate) distinct: [f64; 65],
    /// The number of pairs of values that are in the same group.
    pub(crate) pairs: [f64; 65],
}

impl GroupCounts {
    /// Counts the groups for all numbers of bits in one pass over the pairs of neighbouring values,
    /// from 64 bits down: neighbours that share more leading bits merge their groups first.
    pub(crate) fn of(sorted: &[u64]) -> Self {
        let shared_by = |at: usize| (sorted[at] ^ sorted[at + 1]).leading_zeros() as usize;
        let borders = sorted.len().saturating_sub(1);
        let mut borders_at = vec![Vec::new(); 65];
        (0..borders).for_each(|at| borders_at[shared_by(at)].push(at));
        // Maps the first member of each group to its last member, and the last member to the first.
        let mut ends: Vec<usize> = (0..sorted.len()).collect();
        let mut distinct = [0.0; 65];
        let mut pairs = [0.0; 65];
        let (mut groups, mut pairs_so_far) = (sorted.len(), 0);
        for bits in (0..=64).rev() {
            for &at in &borders_at[bits] {
                let (first, last) = (ends[at], ends[at + 1]);
                pairs_so_far += (at + 1 - first) * (last - at);
                (ends[first], ends[last]) = (last, first);
                groups -= 1;
            }
            distinct[bits] = groups as f64;
            pairs[bits] = pairs_so_far as f64;
        }
        GroupCounts { distinct, pairs }
    }
}

/// The sizes of the groups of sorted values that share their leading `bits` bits.
pub(crate) fn group_lens(sorted: &[u64], bits: u32) -> impl Iterator<Item = usize> {
    let shift = 64 - bits.min(64);
    sorted.chunk_by(move |a, b| a.checked_shr(shift) == b.checked_shr(shift)).map(<[u64]>::len)
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
            let groups = GroupCounts::of(&sorted);
            for bits in 0..=64 {
                let counts: Vec<usize> = group_lens(&sorted, bits as u32).collect();
                let pairs: usize = counts.iter().map(|count| count * (count - 1) / 2).sum();
                assert_eq!(groups.distinct[bits], counts.len() as f64, "{bits} bits");
                assert_eq!(groups.pairs[bits], pairs as f64, "{bits} bits");
            }
        }
    }
}
