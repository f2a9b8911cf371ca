//! Compares whole values with a needle: known heads joined with packed tails.

use super::Kernel;
use super::near::{NearHead, VALUES_MAX};
use super::vector::{Task, Vector};
use crate::bytes::packing::Packed;
use crate::bytes::permutation::Permuted;

impl Kernel {
    /// Compares up to [`VALUES_MAX`] values with the needle. Writes the positions of the values
    /// that differ in at most `k` bits to `found` and returns their number. The bytes of the tails
    /// must be verified.
    pub(crate) fn find_values(
        self,
        tails: Packed<'_>,
        values: &[NearHead],
        needle: Permuted,
        k: u32,
        found: &mut [u8; VALUES_MAX],
    ) -> usize {
        self.run(FindValues { tails, values, needle, k, found })
    }
}

/// See [`Kernel::find_values`].
struct FindValues<'a> {
    tails: Packed<'a>,
    values: &'a [NearHead],
    needle: Permuted,
    k: u32,
    found: &'a mut [u8; VALUES_MAX],
}

impl Task for FindValues<'_> {
    type Output = usize;

    /// The loop uses no operation of `vector`. But compiled for its instructions, it counts bits
    /// and shifts with one instruction each.
    #[inline(always)]
    fn run<V: Vector>(self, _: V) -> usize {
        let FindValues { tails, values, needle, k, found } = self;
        let mut count = 0;
        for (at, &NearHead { rank, head }) in (0..).zip(values.iter().take(VALUES_MAX)) {
            let value = head << (tails.width % u64::BITS) | tails.get(rank.0);
            if let Some(slot) = found.get_mut(count) {
                *slot = at;
            }
            // Counts without a branch, which would be unpredictable: few values are near.
            count += usize::from((value ^ needle.0).count_ones() <= k);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::section::Rank;
    use crate::bytes::packing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_kernel_finds_the_near_values(
            needle: u64, flips in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..80),
            width in 0..=packing::WIDTH_MAX, k in 0..=64_u32,
        ) {
            let values: Vec<u64> = flips.iter().map(|&(a, b, c)| needle ^ (a & b & c)).collect();
            let mut bytes = Vec::new();
            let mut packer = packing::Packer::new(width);
            values.iter().for_each(|&value| packer.push(value, &mut bytes));
            packer.finish(&mut bytes);
            let near_head = |(rank, &value): (u64, &u64)| NearHead { rank: Rank(rank), head: value >> width };
            let heads: Vec<NearHead> = (0..).zip(&values).map(near_head).collect();
            let near = |&at: &u8| (values[usize::from(at)] ^ needle).count_ones() <= k;
            let expected: Vec<u8> = (0..values.len().min(VALUES_MAX) as u8).filter(near).collect();
            for kernel in Kernel::all() {
                let mut found = [0; VALUES_MAX];
                let tails = Packed { bytes: &bytes, width };
                let count = kernel.find_values(tails, &heads, Permuted(needle), k, &mut found);
                prop_assert_eq!(&found[..count], &expected[..]);
            }
        }
    }
}
