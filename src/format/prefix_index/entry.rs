//! The parts of an index entry that its reader and its writer share.

/// Blocks of an index entry.
pub(crate) const BLOCKS_PER_ENTRY: u64 = 16;

/// Bytes of an index entry.
pub(crate) const ENTRY_LEN: u64 = 64;

/// Bytes of an overflow entry: 16 pairs of u64.
pub(crate) const OVERFLOW_ENTRY_LEN: u64 = 256;

/// In the first word of an index entry: the ends are in an overflow entry.
pub(super) const OVERFLOW: u64 = 1 << 63;

/// Bits of a difference in an index entry.
pub(super) const DIFFERENCE_BITS: u32 = 12;

/// The largest difference that an index entry can hold.
pub(crate) const DIFFERENCE_MAX: u64 = (1 << DIFFERENCE_BITS) - 1;

/// The end of a block relative to the bases of its index entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub(super) ranks: u64,
    pub(super) bytes: u64,
}

impl End {
    /// The end in the low 24 bits of a word.
    #[inline(always)]
    pub(super) fn unpack(packed: u64) -> Self {
        End { ranks: packed & DIFFERENCE_MAX, bytes: packed >> DIFFERENCE_BITS & DIFFERENCE_MAX }
    }
}
