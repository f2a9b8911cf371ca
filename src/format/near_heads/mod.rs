//! Which heads of a block are near the needle's: many blocks in one call, many gaps at a time.
//!
//! Walking a block gap by gap costs a few instructions and, where it stops, a mispredicted branch
//! for every block of a query. Here 64 bytes of gaps are summed at once, whatever they hold, and all
//! sums are compared with the needle: first their lowest bytes, which is enough for most blocks, then
//! the sums in lanes of 16 bits.
//!
//! Only plain blocks are taken: gaps of one or two bytes, heads that fit 15 bits below the bits
//! that name the block. The others, and those that break a rule, are handed back for
//! [`Block`](super::heads::Block) to walk, which is the portable twin and names the fault.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::format::heads::LONG_BLOCK_MIN;
use crate::format::prefix_index::BlockSpan;
use crate::section::BlockIndex;

/// Bytes of gaps that are summed at once.
const WINDOW_LEN: usize = 64;
/// The most bits of a head below its block that lanes of 16 bits can sum: sums that are too
/// large stop at the highest value of a lane, which must be no head.
pub(crate) const INNER_BITS_MAX: u32 = 15;

/// A block to look into.
#[derive(Clone, Copy, Debug)]
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
    /// The bits of its head below those that name a block.
    pub(crate) inner: u16,
    /// The bits that must agree but for the flips.
    pub(crate) mask: u16,
}

/// A head that is near enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NearHead {
    pub(crate) block: BlockIndex,
    pub(crate) rank: u64,
    /// The head below the bits that name its block.
    pub(crate) inner: u64,
}

/// What a call found.
#[derive(Debug, Default)]
pub(crate) struct NearHeads {
    pub(crate) heads: Vec<NearHead>,
    /// The positions of the jobs that were handed back.
    pub(crate) left: Vec<usize>,
    /// Room for the positions of the jobs that deserve a second look.
    again: Vec<usize>,
}

impl NearHeads {
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.left.clear();
    }
}

/// The instructions that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// None: all jobs are handed back.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Kernel {
    /// The fastest on this processor.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if avx512::is_available() {
                return Kernel::Avx512;
            }
            if avx2::is_available() {
                return Kernel::Avx2;
            }
        }
        Kernel::Portable
    }

    /// Adds the near heads of all jobs to `out`; `heads` starts where the heads section does.
    #[expect(unsafe_code, reason = "a function for more instructions than every processor has")]
    pub(crate) fn find(self, heads: &[u8], jobs: &[Job], needle: Needle, out: &mut NearHeads) {
        let mut again = std::mem::take(&mut out.again);
        if again.len() < jobs.len() {
            again.resize(jobs.len(), 0);
        }
        // SAFETY: `detect` is the one place outside tests that makes the kernels with more
        // instructions, and makes them only where the processor has those.
        match self {
            Kernel::Portable => out.left.extend(0..jobs.len()),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe {
                debug_assert!(avx2::is_available());
                let count = avx2::glance(heads, jobs, needle, &mut again);
                avx2::look(heads, jobs, needle, again.get(..count).unwrap_or_default(), out);
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe {
                debug_assert!(avx512::is_available());
                let count = avx512::glance(heads, jobs, needle, &mut again);
                avx2::look(heads, jobs, needle, again.get(..count).unwrap_or_default(), out);
            },
        }
        out.again = again;
    }
}

/// One window of gaps, and what was before it.
#[derive(Clone, Copy, Debug)]
struct Window<'a> {
    bytes: &'a [u8; WINDOW_LEN],
    /// The sum of the gaps before.
    carry: u16,
    /// 1 if the first byte is the upper part of a gap.
    open_before: u64,
    /// How many flips are forgiven.
    spare: u32,
}

/// What a look at the bytes tells; a bit for each, the first one lowest.
#[derive(Clone, Copy, Debug)]
struct Glance {
    /// Bytes with the high bit set: the gap goes on in the next one.
    open: u64,
    /// Bytes that are zero.
    zero: u64,
    /// Bytes at which the lowest byte of the sum is near that of the needle.
    perhaps: u64,
}

/// The sums at all bytes of a window, and a bit for each that is near the needle.
#[derive(Clone, Copy, Debug)]
struct Sums {
    near: u64,
    sums: [u16; WINDOW_LEN],
}

/// Lists the blocks that deserve a second look, and says how many they are; `again` has room for all.
///
/// What a block holds is known late, after its bytes came and were summed. A branch on it that
/// turned out wrong would throw away the work on the blocks after it, so this loop has none.
#[inline(always)]
fn glance_with(
    heads: &[u8],
    jobs: &[Job],
    again: &mut [usize],
    glance: impl Fn(&Window<'_>) -> Glance,
) -> usize {
    let mut count = 0;
    for (number, job) in jobs.iter().enumerate() {
        if let Some(slot) = again.get_mut(count) {
            *slot = number;
        }
        count += usize::from(deserves_a_look(heads, job, &glance));
    }
    count
}

/// Looks into the blocks that were listed.
#[inline(always)]
fn look_with(
    heads: &[u8],
    jobs: &[Job],
    again: &[usize],
    out: &mut NearHeads,
    glance: impl Fn(&Window<'_>) -> Glance,
    sum: impl Fn(&Window<'_>) -> Sums,
) {
    for (number, job) in again.iter().filter_map(|&number| Some((number, jobs.get(number)?))) {
        let found_before = out.heads.len();
        if !find_in_block(heads, job, &mut out.heads, &glance, &sum) {
            out.heads.truncate(found_before);
            out.left.push(number);
        }
    }
}

/// Whether a block may have near heads, or is not a plain one of a single window.
#[inline(always)]
fn deserves_a_look(heads: &[u8], job: &Job, glance: &impl Fn(&Window<'_>) -> Glance) -> bool {
    let BlockSpan { heads_start, heads_end, rank_start, rank_end } = job.span;
    let Some(bytes) = heads.get(heads_start as usize..).and_then(|rest| rest.first_chunk()) else {
        return true;
    };
    let glance = glance(&Window { bytes, carry: 0, open_before: 0, spare: job.spare });
    let beyond = (WINDOW_LEN as u64).wrapping_sub(heads_end - heads_start);
    let within = u64::MAX >> (beyond % WINDOW_LEN as u64);
    let open = glance.open & within;
    let ends = within & !open;
    let broken = open << 1 & (open | glance.zero) & within | open & !(within >> 1);
    let miscounted = u64::from(ends.count_ones()) ^ (rank_end - rank_start);
    let too_long = beyond / WINDOW_LEN as u64;
    (broken | glance.perhaps & ends | miscounted | too_long) != 0
}

/// Adds the near heads of one block; `false` if it is not a plain one.
#[inline(always)]
fn find_in_block(
    heads: &[u8],
    job: &Job,
    found: &mut Vec<NearHead>,
    glance: &impl Fn(&Window<'_>) -> Glance,
    sum: &impl Fn(&Window<'_>) -> Sums,
) -> bool {
    let BlockSpan { heads_start, heads_end, rank_start, rank_end } = job.span;
    if rank_end - rank_start > LONG_BLOCK_MIN || heads_start == heads_end {
        // It starts with restart points, or is none.
        return false;
    }
    let (mut at, mut left) = (heads_start as usize, heads_end - heads_start);
    let (mut carry, mut open_before, mut rank) = (0, 0, rank_start);
    loop {
        let Some(bytes) = heads.get(at..).and_then(|rest| rest.first_chunk()) else {
            return false;
        };
        let window = Window { bytes, carry, open_before, spare: job.spare };
        let glance = glance(&window);
        let within = u64::MAX >> (WINDOW_LEN as u64 - left.min(WINDOW_LEN as u64));
        let open = glance.open & within;
        let follows = open << 1 | open_before;
        // Gaps of three bytes, and overlong ones.
        if follows & (open | glance.zero) & within != 0 {
            return false;
        }
        let ends = within & !open;
        if glance.perhaps & ends != 0 {
            add_near(&sum(&window), job.block, rank, ends, found);
        }
        rank += u64::from(ends.count_ones());
        if left <= WINDOW_LEN as u64 {
            let last_open = open & !(within >> 1);
            return last_open == 0 && rank == rank_end;
        }
        [.., carry] = sum(&window).sums;
        (at, left, open_before) = (at + WINDOW_LEN, left - WINDOW_LEN as u64, open >> 63);
    }
}

/// Adds the near heads among those that end at `ends`, the first of which has this rank.
#[inline(always)]
fn add_near(sums: &Sums, block: BlockIndex, rank: u64, ends: u64, found: &mut Vec<NearHead>) {
    let mut near = sums.near & ends;
    while near != 0 {
        let bit = near & near.wrapping_neg();
        let before = u64::from((ends & (bit - 1)).count_ones());
        let inner = sums.sums.get(near.trailing_zeros() as usize).copied().unwrap_or_default();
        found.push(NearHead { block, rank: rank + before, inner: u64::from(inner) });
        near ^= bit;
    }
}

#[cfg(all(test, feature = "build"))]
mod tests;
