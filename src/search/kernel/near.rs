//! The input and output of a kernel: blocks to search, the needle, near heads.

use crate::base::section::{BlockIndex, Rank};
use crate::format::prefix_index::BlockSpan;

/// A block to search.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlockProbe {
    pub(crate) block: BlockIndex,
    /// The positions of the heads and values of the block. The bytes of the heads must be verified.
    pub(crate) span: BlockSpan,
    /// The number of masked inner bits that may differ: the radius less the flips in the block
    /// number.
    pub(crate) remaining: u32,
}

/// The needle in the form in which a kernel compares it with heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needle {
    pub(crate) head: u64,
    /// The number of head bits below the block number.
    pub(crate) inner_bits: u32,
    /// The inner bits of the needle.
    pub(crate) inner: u64,
    /// The inner bits under the table mask; at most `remaining` of them may differ.
    pub(crate) mask: u64,
    /// The number of bits in which whole heads may differ.
    pub(crate) k: u32,
}

impl Needle {
    /// The head that consists of this block number and these `inner` bits.
    #[inline(always)]
    pub(super) fn head_in(self, block: BlockIndex, inner: u64) -> u64 {
        block.0.checked_shl(self.inner_bits).unwrap_or(0) | inner
    }

    /// The lowest head of a block that may be near if no masked bit may differ.
    pub(crate) fn lowest_head(self, block: BlockIndex) -> u64 {
        self.head_in(block, self.range(0).0)
    }

    /// Whether a head in the block of `probe` is near the needle.
    pub(crate) fn is_near_in(self, probe: &BlockProbe, head: u64) -> bool {
        let inner = head.wrapping_sub(self.head_in(probe.block, 0));
        self.is_near(inner, head, probe.remaining)
    }

    /// Whether a head is near the needle; `inner` are its bits below the block number.
    #[inline(always)]
    pub(super) fn is_near(self, inner: u64, head: u64, remaining: u32) -> bool {
        // Computes both conditions: a branch between them would be unpredictable.
        (((inner ^ self.inner) & self.mask).count_ones() <= remaining)
            & ((head ^ self.head).count_ones() <= self.k)
    }

    /// The lowest and the highest `inner` bits of a head that may be near.
    #[inline(always)]
    pub(super) fn range(self, remaining: u32) -> (u64, u64) {
        match remaining {
            0 => (self.inner & self.mask, self.inner | !self.mask),
            _ => (0, u64::MAX),
        }
    }
}

/// A value whose head is near the needle; its tail decides whether the value is near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct NearHead {
    pub(crate) rank: Rank,
    pub(crate) head: u64,
}

/// The result of a search of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The block has no more near heads.
    Done,
    /// Enough heads were found; the cursor is where the search stopped.
    More,
    /// The kernel cannot read on from the cursor.
    Unsupported,
}

/// The largest number of values that one call of
/// [`Kernel::find_values`](super::Kernel::find_values) compares.
pub(crate) const VALUES_MAX: usize = 64;
