//! Bytes and words of bits: fields, varints, checksums, permutations by mask, bit-packed numbers,
//! syndromes, prefetches.
//!
//! Everything here is a pure function of words and slices (a prefetch has no result). Every room
//! above may use it; it must not know of stores or files.

pub(crate) mod checksum;
pub(crate) mod distances;
pub(crate) mod for_this_processor;
pub(crate) mod mask;
pub(crate) mod packing;
pub(crate) mod permutation;
pub(crate) mod prefetch;
pub(crate) mod scramble;
pub(crate) mod set_sum;
pub(crate) mod syndrome;
pub(crate) mod varint;

pub(crate) use fpstore_disk::fields;
