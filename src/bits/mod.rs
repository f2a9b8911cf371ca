//! Moving bits: permutations by mask, and bit-packed numbers.

pub(crate) mod packing;
pub(crate) mod permutation;
pub(crate) mod prefetch;
