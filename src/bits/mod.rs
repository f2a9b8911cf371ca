//! Tools for words of bits: masks, permutations by mask, bit-packed numbers, prefetches,
//! scrambling.
//!
//! Everything here is a pure function of words and slices (a prefetch has no result). Every module
//! above may use it; it must not know of stores, files or errors.

pub(crate) mod mask;
pub(crate) mod packing;
pub(crate) mod permutation;
pub(crate) mod prefetch;
pub(crate) mod scramble;
