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
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
mod windows;

use crate::format::heads::LONG_BLOCK_MIN;
use crate::format::prefix_index::BlockSpan;
use crate::section::{BlockIndex, Rank};

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

/// The instructions that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// None: all jobs are handed back.
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
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
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if neon::is_available() {
            return Kernel::Neon;
        }
        Kernel::Portable
    }

    /// Adds the near heads of all jobs to `out`; `heads` starts where the heads section does.
    ///
    /// Long blocks are handed back: who knows their restart points asks for stretches.
    #[expect(unsafe_code, reason = "a function for more instructions than every processor has")]
    pub(crate) fn find(self, heads: &[u8], jobs: &[Job], needle: Needle, out: &mut NearHeads) {
        out.left.clear();
        if out.again.len() < jobs.len() {
            out.again.resize(jobs.len(), Again::default());
        }
        // SAFETY: `detect` is the one place outside tests that makes the kernels with more
        // instructions, and makes them only where the processor has those.
        match self {
            Kernel::Portable => out.left.extend(0..jobs.len()),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe {
                debug_assert!(avx2::is_available());
                avx2::find(heads, jobs, needle, out);
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe {
                debug_assert!(avx512::is_available());
                avx512::find(heads, jobs, needle, out);
            },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kernel::Neon => unsafe {
                debug_assert!(neon::is_available());
                neon::find(heads, jobs, needle, out);
            },
        }
    }

    /// Adds the near heads of a stretch to `found`, about as many as `enough`.
    #[expect(unsafe_code, reason = "a function for more instructions than every processor has")]
    pub(crate) fn search(
        self,
        heads: &[u8],
        stretch: &mut Stretch,
        needle: Needle,
        found: &mut Vec<NearHead>,
        enough: usize,
    ) -> Progress {
        // SAFETY: as in `find`.
        match self {
            Kernel::Portable => Progress::HandedBack,
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe {
                debug_assert!(avx2::is_available());
                avx2::search(heads, stretch, needle, found, enough)
            },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe {
                debug_assert!(avx512::is_available());
                avx512::search(heads, stretch, needle, found, enough)
            },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Kernel::Neon => unsafe {
                debug_assert!(neon::is_available());
                neon::search(heads, stretch, needle, found, enough)
            },
        }
    }
}

/// One look at the bytes of a window; a bit for each, the first one lowest.
#[derive(Clone, Copy, Debug)]
struct Glance {
    /// Bytes with the high bit set: the gap goes on in the next one.
    open: u64,
    /// Bytes that are zero.
    zero: u64,
    /// Bytes at which the lowest byte of the sum is near that of the needle.
    perhaps: u64,
}

/// What is made of the instructions at hand.
#[derive(Clone, Copy, Debug)]
struct Lanes<O, G, S, A> {
    /// Names by bits the bytes of a window that have the high bit set.
    open: O,
    /// Looks at a window, with the lowest byte of the sum before it and the flips that are forgiven.
    glance: G,
    /// Adds the lower seven bits of those bytes of a window that are named by bits.
    sum: S,
    /// Takes the sums at all bytes of a window, given which are open, where they fit 32 bits, and names by bits those that are near.
    all: A,
}

trait OpenFn: Fn(&[u8; WINDOW_LEN]) -> u64 {}
impl<F: Fn(&[u8; WINDOW_LEN]) -> u64> OpenFn for F {}
trait GlanceFn: Fn(&[u8; WINDOW_LEN], u8, u32) -> Glance {}
impl<F: Fn(&[u8; WINDOW_LEN], u8, u32) -> Glance> GlanceFn for F {}
trait SumFn: Fn(&[u8; WINDOW_LEN], u64) -> u64 {}
impl<F: Fn(&[u8; WINDOW_LEN], u64) -> u64> SumFn for F {}
trait AllFn: Fn(&[u8; WINDOW_LEN], u64, NearSums) -> ([u32; WINDOW_LEN], u64) {}
impl<F: Fn(&[u8; WINDOW_LEN], u64, NearSums) -> ([u32; WINDOW_LEN], u64)> AllFn for F {}

/// What all sums of a window are compared with: 32 bits of everything.
#[derive(Clone, Copy, Debug)]
struct NearSums {
    /// What comes before the first gap, and what must agree but for so many flips.
    before: u32,
    inner: u32,
    mask: u32,
    spare: u32,
    /// The same of the whole heads.
    head_before: u32,
    head: u32,
    k: u32,
}

/// A block that deserves a second look, and what the first one told.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    /// The position of its job.
    number: usize,
    /// Whether it lies in one window and breaks no rule.
    plain: bool,
    /// Bytes with the high bit set, and the others, which end a gap.
    open: u64,
    ends: u64,
    perhaps: u64,
}

/// Adds the near heads of all jobs.
///
/// What a block holds is known late, after its bytes came and were summed. A branch on it that
/// turned out wrong would throw away the work on the blocks after it, so the first loop has none.
#[inline(always)]
fn find_with(
    heads: &[u8],
    jobs: &[Job],
    needle: Needle,
    out: &mut NearHeads,
    lanes: &Lanes<impl OpenFn, impl GlanceFn, impl SumFn, impl AllFn>,
) {
    let NearHeads { heads: found, left, again } = out;
    let mut count = 0;
    for (number, job) in jobs.iter().enumerate() {
        let (deserves, look) = first_look(heads, job, number, &lanes.glance);
        if let Some(slot) = again.get_mut(count) {
            *slot = look;
        }
        count += usize::from(deserves);
    }
    for look in again.iter().take(count) {
        let Some(job) = jobs.get(look.number) else { break };
        let found_before = found.len();
        let done = match look.plain {
            true => second_look(heads, job, look, needle, found, lanes),
            false => whole_look(heads, job, needle, found, lanes),
        };
        if !done {
            found.truncate(found_before);
            left.push(look.number);
        }
    }
}

/// Whether a block may have near heads, or is not a plain one of a single window.
#[inline(always)]
fn first_look(heads: &[u8], job: &Job, number: usize, glance: &impl GlanceFn) -> (bool, Again) {
    let BlockSpan { heads_start, heads_end, rank_start, rank_end } = job.span;
    let Some(bytes) = heads.get(heads_start as usize..).and_then(|rest| rest.first_chunk()) else {
        return (true, Again { number, ..Again::default() });
    };
    let glance = glance(bytes, 0, job.spare);
    let beyond = (WINDOW_LEN as u64).wrapping_sub(heads_end - heads_start);
    let within = u64::MAX >> (beyond % WINDOW_LEN as u64);
    let open = glance.open & within;
    let ends = within & !open;
    let perhaps = glance.perhaps & ends;
    let overlong = open << 1 & glance.zero & ends;
    let unended = open & !(within >> 1);
    let miscounted = u64::from(ends.count_ones()) ^ (rank_end - rank_start);
    let too_long = beyond / WINDOW_LEN as u64;
    let faults = overlong | unended | miscounted | too_long;
    (faults | perhaps != 0, Again { number, plain: faults == 0, open, ends, perhaps })
}

/// Adds the near heads of a plain block in one window; `false` if its gaps are too long.
#[inline(always)]
fn second_look(
    heads: &[u8],
    job: &Job,
    look: &Again,
    needle: Needle,
    found: &mut Vec<NearHead>,
    lanes: &Lanes<impl OpenFn, impl GlanceFn, impl SumFn, impl AllFn>,
) -> bool {
    let start = job.span.heads_start as usize;
    let Some(bytes) = heads.get(start..).and_then(|rest| rest.first_chunk()) else {
        return false;
    };
    let Again { open, ends, perhaps, .. } = *look;
    let window = windows::Window { bytes, open, ends, inner: 0, rank: job.span.rank_start };
    window.add_near(perhaps, job.block, job.spare, needle, found, lanes)
}

/// Adds the near heads of a block of any length but a long one; `false` if it breaks a rule.
#[inline(always)]
fn whole_look(
    heads: &[u8],
    job: &Job,
    needle: Needle,
    found: &mut Vec<NearHead>,
    lanes: &Lanes<impl OpenFn, impl GlanceFn, impl SumFn, impl AllFn>,
) -> bool {
    let Job { block, span, spare } = *job;
    if span.value_count() > LONG_BLOCK_MIN {
        // It starts with restart points.
        return false;
    }
    let mut stretch = Stretch {
        block,
        start: span.heads_start,
        end: span.heads_end,
        inner: 0,
        rank: span.rank_start,
        rank_end: span.rank_end,
        spare,
        last: needle.range(spare).1,
    };
    let done = windows::search_with(heads, &mut stretch, needle, found, usize::MAX, lanes);
    done == Progress::Done
}

#[cfg(all(test, feature = "build"))]
mod tests;
