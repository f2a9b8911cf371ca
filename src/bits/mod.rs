//! Moving bits: permutations by mask, bit-packed numbers, scrambling.

pub(crate) mod packing;
pub(crate) mod permutation;
pub(crate) mod prefetch;
#[cfg(feature = "build")]
pub(crate) mod scramble;
