//! Which values are near the needle's, their heads being known and their tails packed.
//!
//! Tails lie at any bit: each is the part of the eight bytes around it that its rank tells.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::bits::packing;
use crate::bits::permutation::Permuted;
use crate::bytes::u64_at;
use crate::format::near_heads::{Kernel, NearHead};

/// The most values that are compared in one call.
pub(crate) const AT_ONCE: usize = 64;

/// Tails of a table, by rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bits of each.
    pub(crate) width: u32,
}

impl Kernel {
    /// The positions of those of the first [`AT_ONCE`] values that have at most `k` other bits than the needle, and how
    /// many they are. The bytes of their tails must be there and verified.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "a function for more instructions than every processor has")
    )]
    pub(crate) fn find_values(
        self,
        tails: Packed<'_>,
        values: &[NearHead],
        needle: Permuted,
        k: u32,
        found: &mut [u8; AT_ONCE],
    ) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: these kernels are made only where the processor has what the functions need.
            Kernel::Avx512 if values.len() > avx512::FEW => unsafe {
                avx512::find(tails, values, needle, k, found)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kernel::Avx2 | Kernel::Avx512 => unsafe {
                find_by_counting(tails, values, needle, k, found)
            },
            _ => find(tails, values, needle, k, found),
        }
    }
}

/// With instructions that count bits and shift by any count.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn find_by_counting(
    tails: Packed<'_>,
    values: &[NearHead],
    needle: Permuted,
    k: u32,
    found: &mut [u8; AT_ONCE],
) -> usize {
    find(tails, values, needle, k, found)
}

#[inline(always)]
fn find(
    tails: Packed<'_>,
    values: &[NearHead],
    needle: Permuted,
    k: u32,
    found: &mut [u8; AT_ONCE],
) -> usize {
    find_from(0, 0, tails, values, needle, k, found)
}

/// Goes on at a position, after so many that were found.
#[inline(always)]
fn find_from(
    start: usize,
    mut count: usize,
    tails: Packed<'_>,
    values: &[NearHead],
    needle: Permuted,
    k: u32,
    found: &mut [u8; AT_ONCE],
) -> usize {
    let Packed { bytes, width } = tails;
    for (at, &NearHead { rank, head }) in (0..).zip(values.iter().take(AT_ONCE)).skip(start) {
        let offset = packing::load_offset(rank.0, width);
        let word = u64_at(bytes, offset as usize).unwrap_or_default();
        let tail = packing::take(word, rank.0, width);
        let value = head << (width % u64::BITS) | tail;
        if let Some(slot) = found.get_mut(count) {
            *slot = at;
        }
        // Without a branch: few are near, but which ones cannot be foreseen.
        count += usize::from((value ^ needle.0).count_ones() <= k);
    }
    count
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use super::*;
    use crate::section::Rank;
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
            let expected: Vec<u8> = (0..values.len().min(AT_ONCE) as u8).filter(near).collect();
            for kernel in Kernel::all() {
                let mut found = [0; AT_ONCE];
                let tails = Packed { bytes: &bytes, width };
                let count = kernel.find_values(tails, &heads, Permuted(needle), k, &mut found);
                prop_assert_eq!(&found[..count], &expected[..]);
            }
        }
    }
}
