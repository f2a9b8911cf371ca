//! Operations on bytes and words: fields, varints, checksums, permutations by mask, bit-packed
//! numbers, syndromes, prefetches.
//!
//! Everything here is a pure function of words and slices, except prefetches, which have no result.
//! Nothing here depends on stores or files.

pub(crate) mod checksum;
pub(crate) mod distances;
pub(crate) mod for_this_processor;
pub(crate) mod mask;
pub(crate) mod packing;
pub(crate) mod permutation;
pub(crate) mod prefetch;
pub(crate) mod set_sum;
pub(crate) mod syndrome;
pub(crate) mod varint;

pub(crate) use fpstore_disk::fields;

/// A bijection that makes words with common bits look random.
pub(crate) mod scramble {
    /// The finalizer of splitmix64 (Steele, Lea and Flood, OOPSLA 2014). It is one to one, and
    /// numbers that differ in one bit have results that differ in about half of their bits.
    #[inline]
    pub(crate) fn scramble(value: u64) -> u64 {
        let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}
