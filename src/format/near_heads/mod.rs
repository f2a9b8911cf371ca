//! Which heads of a block are near the needle's: many blocks in one call, many gaps at a time.
//!
//! Walking a block gap by gap costs a few instructions and, where it stops, a mispredicted branch
//! for every block of a query. Here 64 bytes of gaps are summed at once, whatever they hold, but only the
//! lowest byte of each sum: it is compared with that of the needle, which is enough for most blocks. Where
//! the two are near, the whole sum up to that byte is taken.
//!
//! Blocks that break a rule are handed back for [`Block`](super::heads::Block) to walk, which is the
//! portable twin and names the fault; so are those at the end of a file, where 64 bytes would reach beyond it,
//! and gaps too long for heads that have a needle near them.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
#[cfg_attr(
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
    allow(dead_code, reason = "other processors have no kernel to make of it")
)]
mod looks;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
#[cfg_attr(
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
    allow(dead_code, reason = "other processors have no kernel to make of it")
)]
mod windows;

use crate::format::prefix_index::BlockSpan;
use crate::section::{BlockIndex, Rank};

pub(crate) use kernel::Kernel;
use looks::Again;

/// The two acts of a module that has `lanes`, compiled for instructions that not every processor has.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
macro_rules! acts {
    ($features:literal) => {
        /// Adds the near heads of all jobs.
        ///
        /// # Safety
        ///
        /// The processor must have what [`is_available`] asks for.
        #[target_feature(enable = $features)]
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        pub(super) unsafe fn find(
            heads: &[u8],
            jobs: &[super::Job],
            needle: Needle,
            out: &mut super::NearHeads,
        ) {
            super::looks::find_with(heads, jobs, needle, out, &lanes(needle));
        }

        /// Adds the near heads of a stretch.
        ///
        /// # Safety
        ///
        /// As of [`find`].
        #[target_feature(enable = $features)]
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        pub(super) unsafe fn search(
            heads: &[u8],
            stretch: &mut super::Stretch,
            needle: Needle,
            found: &mut Vec<super::NearHead>,
            enough: usize,
        ) -> super::Progress {
            super::windows::search_with(heads, stretch, needle, found, enough, &lanes(needle))
        }
    };
}
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
use acts;

/// Bytes of gaps that are summed at once.
const WINDOW_LEN: usize = 64;

/// A block to look into.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Job {
    pub(crate) block: BlockIndex,
    /// Where it lies. The bytes of its heads must be verified.
    pub(crate) span: BlockSpan,
    /// How many flips are forgiven.
    pub(crate) spare: u32,
}

/// What the heads of blocks are compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needle {
    /// Its head, and how many bits of it lie below those that name a block.
    pub(crate) head: u64,
    pub(crate) inner_bits: u32,
    /// Those bits, and the ones among them that must agree but for the flips.
    pub(crate) inner: u64,
    pub(crate) mask: u64,
    /// How many bits of the whole head may differ, wherever they are.
    pub(crate) k: u32,
}

impl Needle {
    /// The head that is `inner` below the bits that name its block.
    #[inline(always)]
    fn head_in(self, block: BlockIndex, inner: u64) -> u64 {
        block.0.checked_shl(self.inner_bits).unwrap_or(0) | inner
    }

    /// Whether a head, and what of it lies below the name of its block, is near enough with so many flips.
    #[inline(always)]
    fn is_near(self, inner: u64, head: u64, spare: u32) -> bool {
        // Both are counted: a branch between them would be foreseen wrong too often.
        (((inner ^ self.inner) & self.mask).count_ones() <= spare)
            & ((head ^ self.head).count_ones() <= self.k)
    }

    /// The lowest and the highest value below the name of a block that may be near with so many flips.
    #[inline(always)]
    fn range(self, spare: u32) -> (u64, u64) {
        match spare {
            0 => (self.inner & self.mask, self.inner | !self.mask),
            _ => (0, u64::MAX),
        }
    }
}

/// A value whose head is near enough: its tail decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct NearHead {
    pub(crate) rank: Rank,
    pub(crate) head: u64,
}

/// What calls found.
#[derive(Debug, Default)]
pub(crate) struct NearHeads {
    pub(crate) heads: Vec<NearHead>,
    /// The positions of the jobs that the last call handed back.
    pub(crate) left: Vec<usize>,
    /// Room for the jobs that deserve a second look.
    again: Vec<Again>,
}

/// Gaps that follow one another, of which some were looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) block: BlockIndex,
    /// Where the gaps that are left lie in the heads section. They must be verified.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The head before them, below the bits that name the block.
    pub(crate) inner: u64,
    /// The rank of the first value that is left, and the one after the last.
    pub(crate) rank: u64,
    pub(crate) rank_end: u64,
    /// How many flips are forgiven.
    pub(crate) spare: u32,
    /// No value above this one is wanted.
    pub(crate) last: u64,
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is nothing more.
    Done,
    /// Enough was found; the stretch says what is left.
    More,
    /// What is left breaks a rule, or these instructions cannot read it.
    HandedBack,
}

#[cfg(all(test, feature = "build"))]
mod tests;
